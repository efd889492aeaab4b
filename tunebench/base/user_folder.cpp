#include "tunebench/base/user_folder.h"

#include <cstdlib>

#include <pwd.h>
#include <unistd.h>

#include "tunebench/base/error.h"

namespace tunebench {
namespace {

std::filesystem::path home_folder() {
  const char* home = std::getenv("HOME");
  if (home != nullptr && *home != '\0') {
    return home;
  }
  const passwd* user = getpwuid(getuid());
  if (user == nullptr || user->pw_dir == nullptr || *user->pw_dir == '\0') {
    throw Error(ErrorCode::InvalidInput, "there is no home folder to keep data in; set HOME");
  }
  return user->pw_dir;
}

}  // namespace

std::filesystem::path user_data_folder() {
  const char* data = std::getenv("XDG_DATA_HOME");
  const std::filesystem::path base = data != nullptr && *data == '/'
                                         ? std::filesystem::path(data)
                                         : home_folder() / ".local/share";
  return base / "tunebench";
}

}  // namespace tunebench
