// libFuzzer target: no bytes may break the codecs, and what they accept can be
// sent on. The first byte chooses the codec; the rest is the message, for a
// policy the manifest with its length before it, then the chunks.

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "flywheel/v1/policy.pb.h"
#include "services/wire/crc32c.h"
#include "services/wire/data_codec.h"
#include "services/wire/policy_codec.h"

namespace flywheel {
namespace {

void Require(bool holds) {
  if (!holds) std::abort();
}

std::span<const std::byte> AsBytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

// Makes sizes and checksums right, so that the checks behind them are tried.
std::string FixedManifest(std::string_view bytes, std::string_view chunks,
                          std::size_t chunk_bytes) {
  const google::protobuf::LogSilencer silencer;
  v1::PolicyManifest manifest;
  if (!manifest.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return std::string(bytes);
  }
  manifest.set_bytes(chunks.size());
  manifest.set_chunk_bytes(static_cast<uint32_t>(chunk_bytes));
  manifest.set_crc32c(Crc32c(AsBytes(chunks)));
  manifest.clear_chunk_crc32c();
  for (std::size_t i = 0; i < chunks.size(); i += chunk_bytes) {
    manifest.add_chunk_crc32c(Crc32c(AsBytes(chunks.substr(i, chunk_bytes))));
  }
  manifest.clear_manifest_crc32c();
  manifest.DiscardUnknownFields();
  const std::string fixed = manifest.SerializeAsString();
  manifest.Clear();
  manifest.set_manifest_crc32c(Crc32c(AsBytes(fixed)));
  return fixed + manifest.SerializeAsString();
}

void TryPolicy(std::string_view bytes, bool fix) {
  constexpr std::size_t kChunkBytes = 100;
  if (bytes.size() < 2) return;
  const std::size_t size = static_cast<uint8_t>(bytes[0]) |
                           std::size_t{static_cast<uint8_t>(bytes[1])} << 8;
  const std::string_view manifest = bytes.substr(2).substr(0, size);
  const std::string_view chunks = bytes.substr(2 + manifest.size());
  std::vector<MessageFrame> frames;
  frames.emplace_back(fix ? FixedManifest(manifest, chunks, kChunkBytes)
                          : std::string(manifest));
  for (std::size_t i = 0; i < chunks.size(); i += kChunkBytes) {
    frames.emplace_back(chunks.substr(i, kChunkBytes));
  }
  const absl::StatusOr<PolicySnapshotPtr> snapshot = PolicyFromFrames(frames);
  if (!snapshot.ok()) return;
  for (const SnapshotTensor& tensor : (*snapshot)->tensors) {
    uint64_t end = sizeof(float);
    for (const int64_t dimension : tensor.shape) end *= dimension;
    Require(tensor.offset + end <= (*snapshot)->bytes.size());
  }
  const absl::StatusOr<PolicySnapshotPtr> again =
      PolicyFromFrames(PolicyFrames(*snapshot));
  Require(again.ok() && (*again)->bytes == (*snapshot)->bytes &&
          (*again)->tensors == (*snapshot)->tensors);
}

void TryMessage(uint8_t codec, std::string_view bytes) {
  switch (codec % 5) {
    case 0:
      if (const auto message = ToBufferFromBytes(bytes); message.ok()) {
        Require(ToBufferFromBytes(ToBufferBytes(*message)).ok());
      }
      break;
    case 1:
      if (const auto message = FromBufferFromBytes(bytes); message.ok()) {
        Require(FromBufferFromBytes(FromBufferBytes(*message)).ok());
      }
      break;
    case 2:
      if (const auto fetch = FetchPolicyFromBytes(bytes); fetch.ok()) {
        Require(FetchPolicyFromBytes(FetchPolicyBytes(*fetch)).ok());
      }
      break;
    case 3:
      TryPolicy(bytes, /*fix=*/false);
      break;
    case 4:
      TryPolicy(bytes, /*fix=*/true);
      break;
  }
}

}  // namespace
}  // namespace flywheel

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  flywheel::TryMessage(data[0],
                       {reinterpret_cast<const char*>(data) + 1, size - 1});
  return 0;
}
