#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace flywheel {

// A fresh folder with a short path (sockets allow 107 bytes), removed with all
// that is in it by the destructor.
class TempFolder {
 public:
  TempFolder() {
    std::string name = "/tmp/flywheel-test-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  // The path of `name` in it.
  std::string operator/(const std::string& name) const {
    return path_ + "/" + name;
  }

 private:
  std::string path_;
};

}  // namespace flywheel
