#include "tunebench/base/build_info.h"

#include "build_stamp.h"

namespace tunebench {

const BuildInfo& build_info() {
  static const BuildInfo info = {
      .version = kStampVersion,
      .commit = kStampCommit,
      .dirty = kStampDirty,
      .compiler = kStampCompiler,
      .build_type = kStampBuildType,
      .sanitizer = kStampSanitizer,
  };
  return info;
}

}  // namespace tunebench
