#include "services/wire/recovery_points.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "services/core/status_macros.h"
#include "services/wire/checkpoint_manifest_json.h"
#include "services/wire/crc32c.h"

namespace flywheel {
namespace {

namespace fs = std::filesystem;

// The file: this header, the manifest as JSON text, the state. All zero while
// it is being written. Little-endian, as everything here.
struct Header {
  std::array<char, 8> magic{};
  uint64_t sequence = 0;
  uint64_t manifest_bytes = 0;
  uint64_t state_bytes = 0;
  uint32_t payload_crc32c = 0;
  uint32_t header_crc32c = 0;  // Of the fields before it.
};
static_assert(sizeof(Header) == 40);

constexpr std::array<char, 8> kMagic = {'F', 'W', 'R', 'P', '0', '0', '0', '1'};

uint32_t HeaderChecksum(const Header& header) {
  return Crc32c(std::as_bytes(std::span(&header, 1))
                    .first(offsetof(Header, header_crc32c)));
}

absl::Status SystemError(const char* what, const std::string& path) {
  return absl::UnavailableError(
      absl::StrCat("cannot ", what, " ", path, ": ", std::strerror(errno)));
}

// An open file that closes itself.
class WritableFile {
 public:
  explicit WritableFile(std::string path)
      : path_(std::move(path)),
        file_(open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600)) {}
  ~WritableFile() {
    if (file_ >= 0) close(file_);
  }
  WritableFile(const WritableFile&) = delete;
  WritableFile& operator=(const WritableFile&) = delete;

  // Writes all of `bytes` at `offset`. A full disk is an error here, where a
  // memory-mapped file would raise a signal.
  absl::Status WriteAt(std::size_t offset, std::span<const std::byte> bytes) {
    if (file_ < 0) return SystemError("open", path_);
    while (!bytes.empty()) {
      const ssize_t written =
          pwrite(file_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return SystemError("write", path_);
      offset += static_cast<std::size_t>(written);
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
    return absl::OkStatus();
  }

 private:
  const std::string path_;
  const int file_;
};

// The header, if the file holds a point; nullopt if there is none yet, or its
// writer was cut short. DataLoss if it is damaged.
absl::StatusOr<std::optional<Header>> ReadHeader(const std::string& path,
                                                 std::ifstream& file) {
  Header header;
  if (!file.read(reinterpret_cast<char*>(&header), sizeof(header)) ||
      header.magic == decltype(header.magic){}) {
    return std::nullopt;
  }
  if (header.magic != kMagic ||
      header.header_crc32c != HeaderChecksum(header)) {
    return absl::DataLossError(
        absl::StrCat(path, ": the header fails its checksum"));
  }
  std::error_code error;
  const uint64_t bytes = fs::file_size(path, error);
  const uint64_t room = bytes - std::min<uint64_t>(bytes, sizeof(header));
  if (error || header.manifest_bytes > room ||
      header.state_bytes > room - header.manifest_bytes) {
    return absl::DataLossError(
        absl::StrCat(path, " has ", bytes, " bytes; its header promises ",
                     header.manifest_bytes, " of manifest and ",
                     header.state_bytes, " of state"));
  }
  return header;
}

struct StoredPoint {
  uint64_t sequence = 0;
  RecoveryPoint point;
};

absl::StatusOr<std::optional<StoredPoint>> ReadPoint(
    const std::string& path) try {
  std::ifstream file(path, std::ios::binary);
  const absl::StatusOr<std::optional<Header>> header = ReadHeader(path, file);
  if (!header.ok()) return header.status();
  if (!header->has_value()) return std::nullopt;
  std::string text((*header)->manifest_bytes, '\0');
  StoredPoint stored{.sequence = (*header)->sequence};
  stored.point.state.resize((*header)->state_bytes);
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  file.read(reinterpret_cast<char*>(stored.point.state.data()),
            static_cast<std::streamsize>(stored.point.state.size()));
  const uint32_t checksum =
      Crc32c(stored.point.state, Crc32c(std::as_bytes(std::span(text))));
  if (!file || checksum != (*header)->payload_crc32c) {
    return absl::DataLossError(absl::StrCat(path, " fails its checksum"));
  }
  stored.point.manifest = ManifestFromJson(nlohmann::json::parse(text));
  return stored;
} catch (const nlohmann::json::exception& error) {
  return absl::DataLossError(
      absl::StrCat("manifest of ", path, ": ", error.what()));
}

}  // namespace

absl::StatusOr<RecoveryPoints> RecoveryPoints::Open(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    return absl::UnavailableError(
        absl::StrCat("cannot create ", folder, ": ", error.message()));
  }
  RecoveryPoints points(folder);
  for (const uint64_t parity : {0, 1}) {
    const auto stored = ReadPoint(points.PathOf(parity));
    if (stored.ok() && stored->has_value()) {
      points.sequence_ = std::max(points.sequence_, (*stored)->sequence);
    }
  }
  return points;
}

absl::Status RecoveryPoints::Write(const CheckpointManifest& manifest,
                                   std::span<const std::byte> state) {
  const std::string text = ManifestJson(manifest).dump();
  const auto text_bytes = std::as_bytes(std::span(text));
  Header header{.magic = kMagic,
                .sequence = sequence_ + 1,
                .manifest_bytes = text_bytes.size(),
                .state_bytes = state.size(),
                .payload_crc32c = Crc32c(state, Crc32c(text_bytes))};
  header.header_crc32c = HeaderChecksum(header);

  WritableFile file(PathOf(header.sequence));
  const Header unfinished;
  FLYWHEEL_RETURN_IF_ERROR(
      file.WriteAt(0, std::as_bytes(std::span(&unfinished, 1))));
  FLYWHEEL_RETURN_IF_ERROR(file.WriteAt(sizeof(Header), text_bytes));
  FLYWHEEL_RETURN_IF_ERROR(
      file.WriteAt(sizeof(Header) + text_bytes.size(), state));
  FLYWHEEL_RETURN_IF_ERROR(
      file.WriteAt(0, std::as_bytes(std::span(&header, 1))));
  sequence_ = header.sequence;
  return absl::OkStatus();
}

absl::StatusOr<RecoveryPoint> RecoveryPoints::ReadNewest(
    std::vector<std::string>& skipped) const {
  std::optional<StoredPoint> newest;
  for (const uint64_t parity : {0, 1}) {
    absl::StatusOr<std::optional<StoredPoint>> stored =
        ReadPoint(PathOf(parity));
    if (!stored.ok()) {
      skipped.push_back(absl::StrCat("skipped a recovery point: ",
                                     stored.status().message()));
    } else if (stored->has_value() &&
               (!newest || newest->sequence < (*stored)->sequence)) {
      newest = *std::move(stored);
    }
  }
  if (newest) return std::move(newest->point);
  return absl::NotFoundError(
      absl::StrCat("no whole recovery point in ", folder_));
}

absl::Status RecoveryPoints::Clear() {
  for (const uint64_t parity : {0, 1}) {
    std::error_code error;
    fs::remove(PathOf(parity), error);
    if (error) {
      return absl::UnavailableError(absl::StrCat(
          "cannot remove ", PathOf(parity), ": ", error.message()));
    }
  }
  sequence_ = 0;
  return absl::OkStatus();
}

std::string RecoveryPoints::PathOf(uint64_t sequence) const {
  return absl::StrCat(folder_, "/point-", sequence % 2);
}

}  // namespace flywheel
