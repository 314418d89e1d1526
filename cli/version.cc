#include "cli/version.h"

namespace flywheel {

std::map<std::string, std::string> Versions() {
#ifdef __clang__
  const std::string compiler = "clang " __clang_version__;
#else
  const std::string compiler = "gcc " __VERSION__;
#endif
  return {{"flywheel", FLYWHEEL_VERSION},
          {"build", FLYWHEEL_BUILD_TYPE},
          {"compiler", compiler}};
}

}  // namespace flywheel
