#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace flywheel {

// The whole of a file. NotFound, PermissionDenied, InvalidArgument (a folder,
// or over `bytes_max` bytes) or Unavailable, with a sentence that names `path`.
absl::StatusOr<std::string> ReadFile(const std::filesystem::path& path,
                                     std::size_t bytes_max);

// Makes `text` the whole of the file at `path`, so that a reader at any moment,
// even after a crash, finds the old file or the new one: written beside it,
// synced, renamed. Unavailable, naming `path`, if it cannot.
absl::Status WriteFileAtomically(const std::filesystem::path& path,
                                 std::string_view text);

}  // namespace flywheel
