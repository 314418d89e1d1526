#include "services/wire/checkpoint_store.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "nlohmann/json.hpp"
#include "services/core/status_macros.h"
#include "services/wire/checkpoint_manifest_json.h"
#include "services/wire/crc32c.h"

namespace flywheel {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr char kManifest[] = "manifest.json";
constexpr char kState[] = "state.safetensors";
constexpr char kJob[] = "job.pb";
constexpr char kPrefix[] = "step-";
constexpr char kPartial[] = ".partial";
constexpr int kFormat = 1;
constexpr std::uintmax_t kMaxManifestBytes = 1 << 20;

std::span<const std::byte> BytesOf(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

absl::Status SystemError(const std::string& what, const std::string& path) {
  return absl::UnavailableError(
      absl::StrCat("cannot ", what, " ", path, ": ", std::strerror(errno)));
}

// Writes all of `bytes` and syncs them to the disk.
absl::Status WriteSynced(const std::string& path,
                         std::span<const std::byte> bytes) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (file < 0) return SystemError("create", path);
  absl::Status status;
  while (!bytes.empty() && status.ok()) {
    const ssize_t written = write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      status = SystemError("write", path);
    } else {
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
  }
  if (status.ok() && fsync(file) != 0) status = SystemError("sync", path);
  close(file);
  return status;
}

absl::Status SyncFolder(const std::string& path) {
  const int folder = open(path.c_str(), O_RDONLY | O_DIRECTORY);
  if (folder < 0) return SystemError("open", path);
  const bool synced = fsync(folder) == 0;
  close(folder);
  return synced ? absl::OkStatus() : SystemError("sync", path);
}

absl::StatusOr<std::string> ReadFile(const std::string& path,
                                     std::uintmax_t limit) {
  std::error_code error;
  const std::uintmax_t bytes = fs::file_size(path, error);
  if (error) {
    return absl::DataLossError(
        absl::StrCat("cannot read ", path, ": ", error.message()));
  }
  if (bytes > limit) {
    return absl::DataLossError(absl::StrCat(
        path, " has ", bytes, " bytes; at most ", limit, " were expected"));
  }
  std::string text(bytes, '\0');
  std::ifstream file(path, std::ios::binary);
  if (!file.read(text.data(), static_cast<std::streamsize>(bytes))) {
    return absl::DataLossError(absl::StrCat("cannot read ", path));
  }
  return text;
}

json FileEntry(std::span<const std::byte> bytes) {
  return {{"bytes", bytes.size()}, {"crc32c", Crc32c(bytes)}};
}

std::string ManifestText(const CheckpointManifest& manifest,
                         std::span<const std::byte> state,
                         const std::string& job) {
  json object = ManifestJson(manifest);
  object["format"] = kFormat;
  object["files"] = {{kState, FileEntry(state)},
                     {kJob, FileEntry(BytesOf(job))}};
  // The manifest vouches for the files; its own checksum for itself.
  const std::string body = object.dump();
  object["crc32c"] = Crc32c(BytesOf(body));
  return object.dump(2) + "\n";
}

absl::StatusOr<json> ParseManifest(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadFile(path, kMaxManifestBytes);
  if (!text.ok()) return text.status();
  json object = json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object() || !object.contains("crc32c")) {
    return absl::DataLossError(absl::StrCat(path, " is not a manifest"));
  }
  const json crc = object["crc32c"];
  object.erase("crc32c");
  if (crc != Crc32c(BytesOf(object.dump()))) {
    return absl::DataLossError(absl::StrCat(path, " fails its checksum"));
  }
  if (object.value("format", 0) != kFormat) {
    return absl::DataLossError(absl::StrCat(path, " has format ",
                                            object.value("format", 0),
                                            "; this build reads ", kFormat));
  }
  return object;
}

absl::StatusOr<std::string> ReadListed(const fs::path& folder, const char* name,
                                       const json& manifest) {
  const std::string path = (folder / name).string();
  const json& entry = manifest.at("files").at(name);
  const uint64_t bytes = entry.at("bytes").get<uint64_t>();
  absl::StatusOr<std::string> text = ReadFile(path, bytes);
  if (!text.ok()) return text.status();
  if (text->size() != bytes ||
      Crc32c(BytesOf(*text)) != entry.at("crc32c").get<uint32_t>()) {
    return absl::DataLossError(absl::StrCat(path, " fails its checksum"));
  }
  return text;
}

}  // namespace

absl::StatusOr<CheckpointStore> CheckpointStore::Open(const Options& options) {
  std::error_code error;
  fs::create_directories(options.folder, error);
  if (error) {
    return absl::UnavailableError(
        absl::StrCat("cannot create ", options.folder, ": ", error.message()));
  }
  return CheckpointStore(options);
}

absl::StatusOr<std::string> CheckpointStore::Write(
    const CheckpointManifest& manifest, std::span<const std::byte> state,
    const std::string& job) {
  const std::string name =
      absl::StrFormat("%s%012d", kPrefix, manifest.train_steps);
  const std::string whole = (fs::path(options_.folder) / name).string();
  const std::string partial = whole + kPartial;
  std::error_code error;
  fs::remove_all(partial, error);
  if (!fs::create_directories(partial, error)) {
    return absl::UnavailableError(
        absl::StrCat("cannot create ", partial, ": ", error.message()));
  }
  FLYWHEEL_RETURN_IF_ERROR(WriteSynced(partial + "/" + kState, state));
  FLYWHEEL_RETURN_IF_ERROR(WriteSynced(partial + "/" + kJob, BytesOf(job)));
  const std::string text = ManifestText(manifest, state, job);
  FLYWHEEL_RETURN_IF_ERROR(
      WriteSynced(partial + "/" + kManifest, BytesOf(text)));
  FLYWHEEL_RETURN_IF_ERROR(SyncFolder(partial));
  // At every instant there is a whole one. The same step may have been written
  // by a former life.
  if (renameat2(AT_FDCWD, partial.c_str(), AT_FDCWD, whole.c_str(),
                fs::exists(whole, error) ? RENAME_EXCHANGE : 0) != 0) {
    return SystemError("rename", partial);
  }
  fs::remove_all(partial, error);
  FLYWHEEL_RETURN_IF_ERROR(SyncFolder(options_.folder));
  Prune();
  return name;
}

void CheckpointStore::Pin(const std::string& name) { ++pins_[name]; }

void CheckpointStore::Unpin(const std::string& name) {
  const auto pin = pins_.find(name);
  if (pin != pins_.end() && --pin->second == 0) pins_.erase(pin);
}

std::vector<std::string> CheckpointStore::Names() const {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(options_.folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(kPrefix) && !name.ends_with(kPartial)) {
      names.push_back(name);
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

absl::StatusOr<Checkpoint> CheckpointStore::Read(const std::string& name) const
    try {
  const fs::path folder = fs::path(options_.folder) / name;
  if (!fs::is_directory(folder)) {
    return absl::NotFoundError(absl::StrCat("no checkpoint ", folder.string()));
  }
  const absl::StatusOr<json> manifest =
      ParseManifest((folder / kManifest).string());
  if (!manifest.ok()) return manifest.status();
  const absl::StatusOr<std::string> state =
      ReadListed(folder, kState, *manifest);
  if (!state.ok()) return state.status();
  const absl::StatusOr<std::string> job = ReadListed(folder, kJob, *manifest);
  if (!job.ok()) return job.status();
  const std::span<const std::byte> bytes = BytesOf(*state);
  return Checkpoint{.name = name,
                    .manifest = ManifestFromJson(*manifest),
                    .state = {bytes.begin(), bytes.end()},
                    .job = *job};
} catch (const json::exception& error) {
  return absl::DataLossError(
      absl::StrCat("manifest of checkpoint ", name, ": ", error.what()));
}

absl::StatusOr<Checkpoint> CheckpointStore::ReadNewest(
    std::vector<std::string>& skipped) const {
  std::vector<std::string> names = Names();
  for (auto name = names.rbegin(); name != names.rend(); ++name) {
    absl::StatusOr<Checkpoint> checkpoint = Read(*name);
    if (checkpoint.ok()) return checkpoint;
    skipped.push_back(absl::StrCat("skipped checkpoint ", *name, ": ",
                                   checkpoint.status().message()));
  }
  return absl::NotFoundError(absl::StrCat("no valid checkpoint in ",
                                          options_.folder, " (", names.size(),
                                          " damaged)"));
}

void CheckpointStore::Prune() {
  std::vector<std::string> names = Names();
  std::erase_if(names, [&](const std::string& n) { return pins_.contains(n); });
  const std::size_t keep = static_cast<std::size_t>(std::max(options_.keep, 1));
  for (std::size_t i = 0; i + keep < names.size(); ++i) {
    std::error_code error;
    fs::remove_all(fs::path(options_.folder) / names[i], error);
  }
}

}  // namespace flywheel
