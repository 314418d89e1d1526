#include "services/wire/policy_codec.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <functional>
#include <random>

#include "flywheel/v1/policy.pb.h"
#include "services/wire/crc32c.h"

namespace flywheel {
namespace {

// Two tensors, with more bytes than one chunk has if `bytes` says so.
PolicySnapshot SampleSnapshot(std::size_t bytes) {
  PolicySnapshot snapshot{
      .lineage = 3,
      .version = {7},
      .parent = 6,
      .kind = "mlp_gaussian",
      .tensors = {{"layers.0.weight", {4, 2}, 0}, {"layers.0.bias", {4}, 64}}};
  snapshot.bytes.resize(bytes);
  std::mt19937 random(1);
  for (std::byte& byte : snapshot.bytes) {
    byte = static_cast<std::byte>(random());
  }
  snapshot.crc32c = Crc32c(snapshot.bytes);
  return snapshot;
}

std::vector<MessageFrame> SampleFrames(std::size_t bytes = 128) {
  return PolicyFrames(
      std::make_shared<const PolicySnapshot>(SampleSnapshot(bytes)));
}

std::span<const std::byte> AsBytes(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

// `manifest` with a right checksum, whatever it says.
MessageFrame ManifestFrame(v1::PolicyManifest manifest) {
  manifest.clear_manifest_crc32c();
  std::string bytes = manifest.SerializeAsString();
  manifest.Clear();
  manifest.set_manifest_crc32c(Crc32c(AsBytes(bytes)));
  return MessageFrame(bytes + manifest.SerializeAsString());
}

v1::PolicyManifest SampleManifest(const std::vector<MessageFrame>& frames) {
  v1::PolicyManifest manifest;
  EXPECT_TRUE(manifest.ParseFromString(std::string(frames[0].text())));
  return manifest;
}

bool Refused(const absl::Status& status) {
  return absl::IsInvalidArgument(status) || absl::IsDataLoss(status);
}

TEST(PolicyCodecTest, CarriesASnapshotOfSeveralChunks) {
  const PolicySnapshot sent = SampleSnapshot(2 * kPolicyChunkBytes + 1000);
  const std::vector<MessageFrame> frames =
      SampleFrames(2 * kPolicyChunkBytes + 1000);
  ASSERT_EQ(frames.size(), 4u);
  EXPECT_EQ(frames[1].size(), kPolicyChunkBytes);
  EXPECT_EQ(frames[3].size(), 1000u);
  const absl::StatusOr<PolicySnapshotPtr> received = PolicyFromFrames(frames);
  ASSERT_TRUE(received.ok()) << received.status();
  EXPECT_EQ((*received)->lineage, 3u);
  EXPECT_EQ((*received)->version.value, 7);
  EXPECT_EQ((*received)->parent, 6);
  EXPECT_EQ((*received)->kind, "mlp_gaussian");
  EXPECT_EQ((*received)->tensors, sent.tensors);
  EXPECT_EQ((*received)->bytes, sent.bytes);
  EXPECT_EQ((*received)->crc32c, sent.crc32c);
}

TEST(PolicyCodecTest, ChunksShareTheMemoryOfTheSnapshot) {
  const auto snapshot =
      std::make_shared<const PolicySnapshot>(SampleSnapshot(3000000));
  const std::vector<MessageFrame> frames = PolicyFrames(snapshot);
  EXPECT_EQ(frames[1].bytes().data(), snapshot->bytes.data());
  EXPECT_EQ(frames[2].bytes().data(),
            snapshot->bytes.data() + kPolicyChunkBytes);
  EXPECT_EQ(frames[1].owner(), snapshot);
}

TEST(PolicyCodecTest, CarriesASnapshotWithoutBytes) {
  const auto empty = std::make_shared<const PolicySnapshot>();
  const absl::StatusOr<PolicySnapshotPtr> received =
      PolicyFromFrames(PolicyFrames(empty));
  ASSERT_TRUE(received.ok()) << received.status();
  EXPECT_TRUE((*received)->bytes.empty());
}

TEST(PolicyCodecTest, EveryFlippedBitIsRefused) {
  const std::vector<MessageFrame> good = SampleFrames();
  ASSERT_EQ(good.size(), 2u);
  for (std::size_t frame = 0; frame < good.size(); ++frame) {
    for (std::size_t i = 0; i < good[frame].size(); ++i) {
      for (int bit = 0; bit < 8; ++bit) {
        std::string text(good[frame].text());
        text[i] = static_cast<char>(text[i] ^ 1 << bit);
        std::vector<MessageFrame> frames = good;
        frames[frame] = MessageFrame(text);
        ASSERT_TRUE(Refused(PolicyFromFrames(frames).status()))
            << "frame " << frame << " byte " << i << " bit " << bit;
      }
    }
  }
}

TEST(PolicyCodecTest, EveryCutIsRefused) {
  const std::vector<MessageFrame> good = SampleFrames();
  EXPECT_TRUE(Refused(PolicyFromFrames({}).status()));
  for (std::size_t frame = 0; frame < good.size(); ++frame) {
    for (std::size_t size = 0; size < good[frame].size(); ++size) {
      std::vector<MessageFrame> frames = good;
      frames[frame] = MessageFrame(good[frame].text().substr(0, size));
      ASSERT_TRUE(Refused(PolicyFromFrames(frames).status())) << size;
    }
  }
}

TEST(PolicyCodecTest, MissingExtraAndSwappedChunksAreRefused) {
  const std::vector<MessageFrame> good = SampleFrames(3 * kPolicyChunkBytes);
  std::vector<MessageFrame> frames = good;
  frames.pop_back();
  EXPECT_TRUE(Refused(PolicyFromFrames(frames).status()));
  frames = good;
  frames.push_back(good.back());
  EXPECT_TRUE(Refused(PolicyFromFrames(frames).status()));
  frames = good;
  std::swap(frames[1], frames[2]);
  EXPECT_TRUE(absl::IsDataLoss(PolicyFromFrames(frames).status()));
}

struct Lie {
  std::string says;
  std::function<void(v1::PolicyManifest&)> tell;
};

constexpr uint64_t kHuge = ~uint64_t{0};

TEST(PolicyCodecTest, AManifestThatLiesIsRefusedByName) {
  const std::vector<Lie> lies = {
      Lie{"manifest.version must be >= 0", [](auto& m) { m.set_version(-1); }},
      Lie{"manifest.parent must be >= -1", [](auto& m) { m.set_parent(-2); }},
      Lie{"manifest.kind", [](auto& m) { m.set_kind(std::string(256, 'x')); }},
      Lie{"need 1 chunks and checksums",
          [](auto& m) { m.add_chunk_crc32c(1); }},
      Lie{"chunk_bytes must be >= 1", [](auto& m) { m.set_chunk_bytes(0); }},
      Lie{"need 2 chunks", [](auto& m) { m.set_chunk_bytes(100); }},
      Lie{"need 17592186044416 chunks", [](auto& m) { m.set_bytes(kHuge); }},
      Lie{"need 0 chunks", [](auto& m) { m.set_bytes(0); }},
      Lie{"chunk 0 must have 129 bytes", [](auto& m) { m.set_bytes(129); }},
      Lie{"chunk 0: its CRC32C", [](auto& m) { m.set_chunk_crc32c(0, 1); }},
      Lie{"policy: CRC32C", [](auto& m) { m.set_crc32c(1); }},
      Lie{"tensor name must have 1 to 255 bytes",
          [](auto& m) { m.mutable_tensors(0)->clear_name(); }},
      Lie{"multiple of 64",
          [](auto& m) { m.mutable_tensors(1)->set_offset(68); }},
      Lie{"offset", [](auto& m) { m.mutable_tensors(1)->set_offset(192); }},
      Lie{"offset",
          [](auto& m) { m.mutable_tensors(1)->set_offset(kHuge - 63); }},
      Lie{"lie within 128 bytes",
          [](auto& m) { m.mutable_tensors(1)->set_offset(128); }},
      Lie{"shape [17]",
          [](auto& m) { m.mutable_tensors(1)->set_shape(0, 17); }},
      Lie{"shape [0, 2]",
          [](auto& m) { m.mutable_tensors(0)->set_shape(0, 0); }},
      Lie{"shape [-4, 2]",
          [](auto& m) { m.mutable_tensors(0)->set_shape(0, -4); }},
      Lie{"shape [4, 9223372036854775807]",
          [](auto& m) {
            m.mutable_tensors(0)->set_shape(
                1, std::numeric_limits<int64_t>::max());
          }},
      Lie{"at most 16 dimensions", [](auto& m) {
            m.mutable_tensors(0)->mutable_shape()->Resize(17, 1);
          }}};
  std::vector<MessageFrame> frames = SampleFrames();
  const v1::PolicyManifest good = SampleManifest(frames);
  frames[0] = ManifestFrame(good);
  ASSERT_TRUE(PolicyFromFrames(frames).ok());
  for (const Lie& lie : lies) {
    SCOPED_TRACE(lie.says);
    v1::PolicyManifest manifest = good;
    lie.tell(manifest);
    frames[0] = ManifestFrame(manifest);
    const absl::Status status = PolicyFromFrames(frames).status();
    EXPECT_TRUE(Refused(status)) << status;
    EXPECT_PRED_FORMAT2(::testing::IsSubstring, lie.says, status.ToString());
  }
}

TEST(PolicyCodecTest, ASizeBombTakesNoMemory) {
  // It speaks of 2^40 bytes; one chunk is there.
  std::vector<MessageFrame> frames = SampleFrames();
  v1::PolicyManifest manifest = SampleManifest(frames);
  manifest.set_bytes(uint64_t{1} << 40);
  manifest.set_chunk_bytes(~uint32_t{0});
  manifest.mutable_chunk_crc32c()->Resize(257, 0);
  frames[0] = ManifestFrame(manifest);
  frames.resize(258, frames[1]);
  rusage before{};
  rusage after{};
  getrusage(RUSAGE_SELF, &before);
  EXPECT_TRUE(Refused(PolicyFromFrames(frames).status()));
  getrusage(RUSAGE_SELF, &after);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 100 << 10);  // KiB.
}

TEST(PolicyCodecTest, AManifestWithoutItsChecksumIsRefused) {
  std::vector<MessageFrame> frames = SampleFrames();
  v1::PolicyManifest manifest = SampleManifest(frames);
  manifest.clear_manifest_crc32c();
  frames[0] = MessageFrame(manifest.SerializeAsString());
  EXPECT_TRUE(absl::IsDataLoss(PolicyFromFrames(frames).status()));
}

TEST(FetchPolicyTest, CarriesItsFields) {
  const absl::StatusOr<FetchPolicy> fetch =
      FetchPolicyFromBytes(FetchPolicyBytes({.worker = 4, .newer_than = 17}));
  ASSERT_TRUE(fetch.ok()) << fetch.status();
  EXPECT_EQ(fetch->worker, 4u);
  EXPECT_EQ(fetch->newer_than, 17);
  EXPECT_EQ(FetchPolicyFromBytes(FetchPolicyBytes({}))->newer_than, -1);
}

TEST(FetchPolicyTest, RefusesWhatIsNone) {
  EXPECT_TRUE(absl::IsInvalidArgument(
      FetchPolicyFromBytes(FetchPolicyBytes({.newer_than = -2})).status()));
  EXPECT_TRUE(
      absl::IsInvalidArgument(FetchPolicyFromBytes("\xff\xff").status()));
}

}  // namespace
}  // namespace flywheel
