#include "tunebench/hub/internal/libcurl.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include "tunebench/base/error.h"
#include "tunebench/base/text.h"

namespace tunebench::hub {
namespace {

constexpr const char* kLibrary = "libcurl.so.4";

template <typename Function>
void load_curl_function(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));  // NOLINT: dlsym's own contract
  if (function == nullptr) {
    throw Error(ErrorCode::Unsupported, fmt::format("{} has no {}", kLibrary, name));
  }
}

Libcurl load_curl() {
  // Never closed: its own libraries do not expect to be.
  void* library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw Error(ErrorCode::Unsupported,
                fmt::format("fetching models needs libcurl, which is not here ({}); install it, on "
                            "Debian: apt-get install libcurl4",
                            printable(dlerror())));
  }
  Libcurl api{};
#define TB_LOAD(name) load_curl_function(library, #name, api.name)
  TB_LOAD(curl_easy_cleanup);
  TB_LOAD(curl_easy_getinfo);
  TB_LOAD(curl_easy_init);
  TB_LOAD(curl_easy_perform);
  TB_LOAD(curl_easy_setopt);
  TB_LOAD(curl_easy_strerror);
  TB_LOAD(curl_free);
  TB_LOAD(curl_global_init);
  TB_LOAD(curl_slist_append);
  TB_LOAD(curl_slist_free_all);
  TB_LOAD(curl_url);
  TB_LOAD(curl_url_cleanup);
  TB_LOAD(curl_url_get);
  TB_LOAD(curl_url_set);
#undef TB_LOAD
  if (api.curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
    throw Error(ErrorCode::Unsupported, fmt::format("{} cannot be used", kLibrary));
  }
  return api;
}

}  // namespace

const Libcurl& Libcurl::loaded() {
  static const Libcurl api = load_curl();
  return api;
}

}  // namespace tunebench::hub
