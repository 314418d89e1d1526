#pragma once

#include <memory>
#include <string>
#include <vector>

#include "services/buffer/log/log_files.h"

namespace flywheel {

// The files of a real folder, which must exist. Thread-safe.
class PosixLogFiles final : public LogFiles {
 public:
  explicit PosixLogFiles(std::string folder) : folder_(std::move(folder)) {}

  absl::StatusOr<std::unique_ptr<LogFile>> Create(
      const std::string& name, uint64_t bytes, uint64_t spare_bytes) override;
  absl::StatusOr<std::unique_ptr<LogFile>> Open(
      const std::string& name) override;
  absl::StatusOr<std::vector<std::string>> List() override;
  absl::Status Rename(const std::string& from, const std::string& to) override;
  absl::Status Remove(const std::string& name) override;
  absl::Status SyncFolder() override;

 private:
  std::string Path(const std::string& name) const {
    return folder_ + "/" + name;
  }

  const std::string folder_;
};

}  // namespace flywheel
