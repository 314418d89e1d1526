#pragma once

#include <filesystem>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace flywheel {

// NotFound, naming `folder`, if it is no run folder.
absl::Status CheckRunFolder(const std::string& folder);

// The folder of one run, held by this process alone for as long as the object
// lives, so that no two launchers write into one run.
class RunFolder {
 public:
  // Makes an empty one: `output`, or runs/<name>-<date>-<time> here if that is
  // empty. InvalidArgument if it exists and is not empty.
  static absl::StatusOr<RunFolder> Create(const std::string& output,
                                          const std::string& name,
                                          absl::Time now);

  // Takes up one that exists. NotFound if it is no run folder; Unavailable if
  // another process holds it.
  static absl::StatusOr<RunFolder> Open(const std::string& folder);

  RunFolder(RunFolder&& other) noexcept;
  RunFolder& operator=(RunFolder&&) = delete;
  ~RunFolder();

  // As the user wrote it: for messages.
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path absolute() const;

  std::filesystem::path job() const { return path_ / "job.yaml"; }
  std::filesystem::path metrics() const { return path_ / "metrics.jsonl"; }
  std::filesystem::path summary() const { return path_ / "summary.json"; }
  std::filesystem::path report() const { return path_ / "report.html"; }
  std::filesystem::path checkpoints() const { return path_ / "checkpoints"; }
  std::filesystem::path logs() const { return path_ / "logs"; }

 private:
  RunFolder(std::filesystem::path path, int lock)
      : path_(std::move(path)), lock_(lock) {}

  static absl::StatusOr<RunFolder> Lock(std::filesystem::path path);

  std::filesystem::path path_;
  int lock_ = -1;  // An open descriptor of the folder, with a flock; -1: moved.
};

}  // namespace flywheel
