#include "services/wire/policy_codec.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "flywheel/v1/policy.pb.h"
#include "services/core/status_macros.h"
#include "services/wire/crc32c.h"
#include "services/wire/message_bytes_codec.h"
#include "services/wire/message_checks.h"

namespace flywheel {
namespace {

constexpr int kMaxTensors = 1 << 16;
constexpr int kMaxDimensions = 16;
constexpr std::size_t kMaxNameBytes = 255;
constexpr uint64_t kTensorAlignment = 64;

// The manifest ends with the field manifest_crc32c, number 10, a fixed32: its
// tag, then CRC32C of everything before the tag.
constexpr char kChecksumTag = (10 << 3) | 5;
constexpr std::size_t kChecksumBytes = 1 + sizeof(uint32_t);

std::span<const std::byte> AsBytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

void AppendChecksum(std::string& manifest) {
  const uint32_t crc = Crc32c(AsBytes(manifest));
  manifest.push_back(kChecksumTag);
  for (int shift = 0; shift < 32; shift += 8) {
    manifest.push_back(static_cast<char>(crc >> shift));
  }
}

absl::Status CheckChecksum(std::string_view manifest) {
  const std::size_t size = manifest.size();
  if (size < kChecksumBytes ||
      manifest[size - kChecksumBytes] != kChecksumTag) {
    return absl::DataLossError(absl::StrCat(
        "manifest of ", size, " bytes must end with manifest_crc32c"));
  }
  uint32_t says = 0;
  for (std::size_t i = 0; i < sizeof(says); ++i) {
    says |= uint32_t{static_cast<uint8_t>(manifest[size - sizeof(says) + i])}
            << (8 * i);
  }
  const uint32_t crc =
      Crc32c(AsBytes(manifest.substr(0, size - kChecksumBytes)));
  if (crc == says) return absl::OkStatus();
  return absl::DataLossError(absl::StrFormat(
      "manifest: its CRC32C is %#010x, but it says %#010x", crc, says));
}

absl::StatusOr<v1::PolicyManifest> ManifestFromFrame(std::string_view bytes) {
  FLYWHEEL_RETURN_IF_ERROR(CheckMessageBytes("PolicyManifest", bytes.size()));
  FLYWHEEL_RETURN_IF_ERROR(CheckChecksum(bytes));
  v1::PolicyManifest manifest;
  FLYWHEEL_RETURN_IF_ERROR(ParseMessage("PolicyManifest", bytes, manifest));
  FLYWHEEL_RETURN_IF_ERROR(
      CheckAtLeast("manifest.version", manifest.version(), 0));
  FLYWHEEL_RETURN_IF_ERROR(
      CheckAtLeast("manifest.parent", manifest.parent(), -1));
  FLYWHEEL_RETURN_IF_ERROR(CheckRange(
      "length of manifest.kind", manifest.kind().size(), 0, kMaxNameBytes));
  FLYWHEEL_RETURN_IF_ERROR(CheckRange("number of manifest.tensors",
                                      manifest.tensors_size(), 0, kMaxTensors));
  return manifest;
}

// That the chunks are exactly those the manifest speaks of, by their sizes. So
// what is allocated next is never more than what was received.
absl::Status CheckChunkSizes(const v1::PolicyManifest& manifest,
                             std::span<const MessageFrame> chunks) {
  const uint64_t bytes = manifest.bytes();
  const uint64_t chunk_bytes = manifest.chunk_bytes();
  if (chunk_bytes == 0) {
    return absl::InvalidArgumentError(
        "manifest.chunk_bytes must be >= 1, got 0");
  }
  const uint64_t num_chunks =
      bytes / chunk_bytes + (bytes % chunk_bytes == 0 ? 0 : 1);
  if (num_chunks != chunks.size() ||
      num_chunks != static_cast<uint64_t>(manifest.chunk_crc32c_size())) {
    return absl::InvalidArgumentError(
        absl::StrCat("manifest: ", bytes, " bytes in chunks of ", chunk_bytes,
                     " need ", num_chunks, " chunks and checksums, got ",
                     chunks.size(), " and ", manifest.chunk_crc32c_size()));
  }
  for (uint64_t i = 0; i < num_chunks; ++i) {
    const uint64_t size = std::min(chunk_bytes, bytes - i * chunk_bytes);
    if (chunks[i].size() != size) {
      return absl::DataLossError(absl::StrCat(
          "chunk ", i, " must have ", size, " bytes, got ", chunks[i].size()));
    }
  }
  return absl::OkStatus();
}

// The joined chunks, once each of them and the whole have their checksums.
absl::StatusOr<std::vector<std::byte>> JoinedChunks(
    const v1::PolicyManifest& manifest, std::span<const MessageFrame> chunks) {
  std::vector<std::byte> joined;
  joined.reserve(manifest.bytes());
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    const std::span<const std::byte> chunk = chunks[i].bytes();
    const uint32_t says = manifest.chunk_crc32c(static_cast<int>(i));
    if (const uint32_t crc = Crc32c(chunk); crc != says) {
      return absl::DataLossError(absl::StrFormat(
          "chunk %d: its CRC32C is %#010x, but the manifest says %#010x", i,
          crc, says));
    }
    joined.insert(joined.end(), chunk.begin(), chunk.end());
  }
  if (const uint32_t crc = Crc32c(joined); crc != manifest.crc32c()) {
    return absl::DataLossError(absl::StrFormat(
        "policy: CRC32C of its bytes is %#010x, but the manifest says %#010x",
        crc, manifest.crc32c()));
  }
  return joined;
}

absl::Status CheckTensor(const v1::PolicyTensor& tensor, uint64_t bytes) {
  if (tensor.name().empty() || tensor.name().size() > kMaxNameBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("tensor name must have 1 to ", kMaxNameBytes,
                     " bytes, got ", tensor.name().size()));
  }
  if (tensor.shape_size() > kMaxDimensions) {
    return absl::InvalidArgumentError(
        absl::StrCat("tensor \"", tensor.name(), "\": shape must have at most ",
                     kMaxDimensions, " dimensions, got ", tensor.shape_size()));
  }
  if (tensor.offset() % kTensorAlignment != 0 || tensor.offset() > bytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "tensor \"", tensor.name(), "\": offset must be a multiple of ",
        kTensorAlignment, " within ", bytes, " bytes, got ", tensor.offset()));
  }
  uint64_t room = (bytes - tensor.offset()) / sizeof(float);  // In elements.
  bool fits = room >= 1;
  for (const int64_t size : tensor.shape()) {
    fits = fits && size >= 1 && static_cast<uint64_t>(size) <= room;
    if (fits) room /= static_cast<uint64_t>(size);
  }
  if (fits) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "tensor \"", tensor.name(), "\" of shape [",
      absl::StrJoin(tensor.shape(), ", "), "] at offset ", tensor.offset(),
      " must have sizes >= 1 and lie within ", bytes, " bytes"));
}

}  // namespace

std::string FetchPolicyBytes(const FetchPolicy& fetch) {
  v1::FetchPolicy message;
  message.set_worker(fetch.worker);
  message.set_newer_than(fetch.newer_than);
  message.set_lineage(fetch.lineage);
  return message.SerializeAsString();
}

absl::StatusOr<FetchPolicy> FetchPolicyFromBytes(std::string_view bytes) {
  v1::FetchPolicy message;
  FLYWHEEL_RETURN_IF_ERROR(ParseMessage("FetchPolicy", bytes, message));
  FLYWHEEL_RETURN_IF_ERROR(
      CheckAtLeast("fetch_policy.newer_than", message.newer_than(), -1));
  return FetchPolicy{.worker = message.worker(),
                     .newer_than = message.newer_than(),
                     .lineage = message.lineage()};
}

std::vector<MessageFrame> PolicyFrames(const PolicySnapshotPtr& snapshot) {
  v1::PolicyManifest manifest;
  manifest.set_lineage(snapshot->lineage);
  manifest.set_version(snapshot->version.value);
  manifest.set_parent(snapshot->parent);
  manifest.set_kind(snapshot->kind);
  manifest.set_bytes(snapshot->bytes.size());
  manifest.set_chunk_bytes(kPolicyChunkBytes);
  manifest.set_crc32c(snapshot->crc32c);
  for (const SnapshotTensor& tensor : snapshot->tensors) {
    v1::PolicyTensor* added = manifest.add_tensors();
    added->set_name(tensor.name);
    added->mutable_shape()->Assign(tensor.shape.begin(), tensor.shape.end());
    added->set_offset(tensor.offset);
  }

  std::vector<MessageFrame> frames(1);
  std::span<const std::byte> rest(snapshot->bytes);
  while (!rest.empty()) {
    const auto chunk =
        rest.first(std::min<std::size_t>(rest.size(), kPolicyChunkBytes));
    manifest.add_chunk_crc32c(Crc32c(chunk));
    frames.emplace_back(snapshot, chunk);
    rest = rest.subspan(chunk.size());
  }
  std::string manifest_bytes = manifest.SerializeAsString();
  AppendChecksum(manifest_bytes);
  frames.front() = MessageFrame(manifest_bytes);
  return frames;
}

absl::StatusOr<PolicySnapshotPtr> PolicyFromFrames(
    std::span<const MessageFrame> frames) {
  if (frames.empty()) {
    return absl::InvalidArgumentError(
        "a policy must have at least a manifest frame, got no frame");
  }
  const absl::StatusOr<v1::PolicyManifest> manifest =
      ManifestFromFrame(frames.front().text());
  if (!manifest.ok()) return manifest.status();
  const std::span<const MessageFrame> chunks = frames.subspan(1);
  FLYWHEEL_RETURN_IF_ERROR(CheckChunkSizes(*manifest, chunks));
  absl::StatusOr<std::vector<std::byte>> bytes =
      JoinedChunks(*manifest, chunks);
  if (!bytes.ok()) return bytes.status();

  auto snapshot = std::make_shared<PolicySnapshot>();
  snapshot->lineage = manifest->lineage();
  snapshot->version.value = manifest->version();
  snapshot->parent = manifest->parent();
  snapshot->kind = manifest->kind();
  snapshot->crc32c = manifest->crc32c();
  for (const v1::PolicyTensor& tensor : manifest->tensors()) {
    FLYWHEEL_RETURN_IF_ERROR(CheckTensor(tensor, manifest->bytes()));
    snapshot->tensors.push_back(
        {.name = tensor.name(),
         .shape = {tensor.shape().begin(), tensor.shape().end()},
         .offset = tensor.offset()});
  }
  snapshot->bytes = *std::move(bytes);
  return snapshot;
}

}  // namespace flywheel
