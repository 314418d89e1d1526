#include "services/policy/safetensors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>

#include "services/policy/stored_policy.h"

namespace flywheel {
namespace {

std::vector<std::byte> FileOf(const std::string& header,
                              std::size_t data_bytes) {
  std::vector<std::byte> bytes(8 + header.size() + data_bytes);
  const uint64_t length = header.size();
  std::memcpy(bytes.data(), &length, 8);
  std::memcpy(bytes.data() + 8, header.data(), header.size());
  return bytes;
}

std::string Refusal(const std::string& header, std::size_t data_bytes) {
  const std::vector<std::byte> bytes = FileOf(header, data_bytes);
  const auto read = SafetensorsFromBytes(bytes);
  EXPECT_EQ(read.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(read.status().message());
}

std::vector<std::byte> SampleFile() {
  static const float kWeights[] = {1, 2, 3, 4, 5, 6};
  static const int64_t kVersion[] = {42};
  static const double kMean[] = {0.5, 1.5};
  const std::vector<TensorView> tensors = {
      {.name = "policy/w \"quoted\" \n \\ \xc3\xa9",
       .element = ElementKind::kFloat32,
       .shape = {2, 3},
       .bytes = std::as_bytes(std::span(kWeights))},
      {.name = "version",
       .element = ElementKind::kInt64,
       .shape = {1},
       .bytes = std::as_bytes(std::span(kVersion))},
      {.name = "mean",
       .element = ElementKind::kFloat64,
       .shape = {2},
       .bytes = std::as_bytes(std::span(kMean))},
      {.name = "empty", .element = ElementKind::kUint8, .shape = {0, 7}},
      {.name = "scalar",
       .element = ElementKind::kFloat32,
       .shape = {},
       .bytes = std::as_bytes(std::span(kWeights).first(1))}};
  return SafetensorsBytes(tensors, {{"format", "pt"}, {"a\tb", "\x01"}});
}

TEST(SafetensorsTest, ReadsWhatItWrites) {
  const std::vector<std::byte> bytes = SampleFile();
  const auto read = SafetensorsFromBytes(bytes);
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_EQ(read->tensors.size(), 5u);
  EXPECT_EQ(read->metadata.at("format"), "pt");
  EXPECT_EQ(read->metadata.at("a\tb"), "\x01");
  const TensorView* weights = read->Find("policy/w \"quoted\" \n \\ \xc3\xa9");
  ASSERT_NE(weights, nullptr);
  EXPECT_EQ(weights->shape, (std::vector<int64_t>{2, 3}));
  float last = 0;
  std::memcpy(&last, weights->bytes.data() + 20, 4);
  EXPECT_EQ(last, 6);
  EXPECT_EQ(read->Find("mean")->element, ElementKind::kFloat64);
  EXPECT_TRUE(read->Find("empty")->bytes.empty());
  EXPECT_EQ(read->Find("scalar")->bytes.size(), 4u);
  EXPECT_EQ(read->Find("nothing"), nullptr);
}

TEST(SafetensorsTest, AlignsItsData) {
  const std::vector<std::byte> bytes = SampleFile();
  const auto read = SafetensorsFromBytes(bytes);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ((read->tensors[0].bytes.data() - bytes.data()) % 64, 0);
}

TEST(SafetensorsTest, ReadsAFileOfNoTensors) {
  EXPECT_TRUE(SafetensorsFromBytes(FileOf("{}", 0)).ok());
  EXPECT_TRUE(SafetensorsFromBytes(FileOf("{}   ", 0)).ok());
  EXPECT_TRUE(SafetensorsFromBytes(SafetensorsBytes({})).ok());
}

TEST(SafetensorsTest, ReadsWhatPythonWrites) {
  const std::vector<std::byte> bytes = FileOf(
      R"({"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[1],)"
      R"("data_offsets":[0,4]},"b":{"dtype":"I64","shape":[],)"
      R"("data_offsets":[4,12]}}  )",
      12);
  const auto read = SafetensorsFromBytes(bytes);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->Find("b")->bytes.size(), 8u);
}

TEST(SafetensorsTest, ReadsEscapedNames) {
  const std::vector<std::byte> bytes =
      FileOf(R"({"\u00e9\u20ac\/\"\\\n":{"dtype":"U8","shape":[1],)"
             R"("data_offsets":[0,1]}})",
             1);
  const auto read = SafetensorsFromBytes(bytes);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_NE(read->Find("\xc3\xa9\xe2\x82\xac/\"\\\n"), nullptr);
}

TEST(SafetensorsTest, RefusesTooFewBytes) {
  const std::vector<std::byte> bytes(7);
  EXPECT_EQ(SafetensorsFromBytes(bytes).status().message(),
            "safetensors: at least 8 bytes are needed, got 7");
}

TEST(SafetensorsTest, RefusesAHeaderBeyondTheEnd) {
  std::vector<std::byte> bytes = FileOf("{}", 0);
  bytes[0] = std::byte{3};
  EXPECT_EQ(SafetensorsFromBytes(bytes).status().message(),
            "safetensors: a header of 3 bytes must be at most 100000000 and "
            "fit into 2");
  std::fill(bytes.begin(), bytes.begin() + 8, std::byte{0xff});
  EXPECT_EQ(SafetensorsFromBytes(bytes).status().message(),
            "safetensors: a header of 18446744073709551615 bytes must be at "
            "most 100000000 and fit into 2");
}

TEST(SafetensorsTest, RefusesAHeaderThatDoesNotBeginWithABrace) {
  const std::string refusal = "safetensors header: the first byte must be '{'";
  EXPECT_EQ(Refusal(" {}", 0), refusal);
  EXPECT_EQ(Refusal("[]", 0), refusal);
  EXPECT_EQ(Refusal("", 0), refusal);
}

TEST(SafetensorsTest, RefusesDuplicateNames) {
  EXPECT_EQ(Refusal(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                    R"("a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
                    2),
            "safetensors header: tensor a appears twice");
  EXPECT_EQ(Refusal(R"({"__metadata__":{},"__metadata__":{}})", 0),
            "safetensors header: tensor __metadata__ appears twice");
}

TEST(SafetensorsTest, RefusesUnknownElementTypes) {
  EXPECT_EQ(
      Refusal(R"({"a":{"dtype":"BF16","shape":[1],"data_offsets":[0,2]}})", 2),
      "safetensors tensor a: element type BF16 is none of U8, I32, I64, F32, "
      "F64");
}

TEST(SafetensorsTest, RefusesRangesThatDoNotMatchTheShape) {
  EXPECT_EQ(
      Refusal(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4),
      "safetensors tensor a: shape [2] of F32 does not take 4 bytes");
  EXPECT_EQ(Refusal(R"({"a":{"dtype":"F32","shape":[4294967296,4294967296,)"
                    R"(4294967296],"data_offsets":[0,4]}})",
                    4),
            "safetensors tensor a: shape [4294967296, 4294967296, 4294967296] "
            "of F32 does not take 4 bytes");
}

TEST(SafetensorsTest, RefusesRangesOutsideTheData) {
  EXPECT_EQ(
      Refusal(R"({"a":{"dtype":"U8","shape":[9],"data_offsets":[0,9]}})", 8),
      "safetensors tensor a: bytes [0, 9] are no range within 8");
  EXPECT_EQ(
      Refusal(R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[5,4]}})", 8),
      "safetensors tensor a: bytes [5, 4] are no range within 8");
  EXPECT_EQ(
      Refusal(R"({"a":{"dtype":"U8","shape":[8],"data_offsets":[0]}})", 8),
      "safetensors tensor a: bytes [0] are no range within 8");
}

TEST(SafetensorsTest, RefusesRangesThatDoNotTileTheData) {
  EXPECT_EQ(Refusal(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
                    R"("b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
                    3),
            "safetensors data: a tensor begins at byte 1 where 2 was to be "
            "next");
  EXPECT_EQ(
      Refusal(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})", 3),
      "safetensors data: a tensor begins at byte 1 where 0 was to be next");
  EXPECT_EQ(
      Refusal(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})", 3),
      "safetensors data: 3 bytes, of which 1 belong to no tensor");
  EXPECT_EQ(Refusal("{}", 1),
            "safetensors data: 1 bytes, of which 1 belong to no tensor");
}

TEST(SafetensorsTest, RefusesMetadataThatIsNoText) {
  EXPECT_EQ(Refusal(R"({"__metadata__":{"a":1}})", 0),
            "safetensors header: expected '\"' at byte 21");
  EXPECT_EQ(Refusal(R"({"__metadata__":"a"})", 0),
            "safetensors header: expected '{' at byte 16");
  EXPECT_EQ(Refusal(R"({"__metadata__":{"a":"b","a":"c"}})", 0),
            "safetensors header: expected each metadata key once at byte 32");
}

TEST(SafetensorsTest, RefusesWhatIsNotTheFormat) {
  for (const char* header :
       {"{", R"({"a")", R"({"a":})", R"({"a":{}})", R"({"a":{"dtype":"U8"}})",
        R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"x":1}})",
        R"({"a":{"dtype":"U8","dtype":"U8","data_offsets":[0,1]}})",
        R"({"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,1]}})",
        R"({"a":{"dtype":"U8","shape":[1.0],"data_offsets":[0,1]}})",
        R"({"a":{"dtype":"U8","shape":[01],"data_offsets":[0,1]}})",
        R"({"a":{"dtype":"U8","shape":[1,],"data_offsets":[0,1]}})",
        R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,)"
        R"(99999999999999999999]}})",
        R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},})",
        R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}} x)",
        R"({"\ud800":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
        R"({"\x":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
        "{\"a\n\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}",
        R"({"a":{"dtype":"U8","shape":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1],)"
        R"("data_offsets":[0,1]}})"}) {
    EXPECT_FALSE(SafetensorsFromBytes(FileOf(header, 1)).ok()) << header;
  }
}

TEST(SafetensorsTest, SurvivesEveryCutAndEveryFlippedBit) {
  const std::vector<std::byte> bytes = SampleFile();
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const std::vector<std::byte> cut(bytes.begin(), bytes.begin() + length);
    EXPECT_FALSE(SafetensorsFromBytes(cut).ok()) << length;
  }
  int read_anyway = 0;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::vector<std::byte> flipped = bytes;
      flipped[at] ^= static_cast<std::byte>(1 << bit);
      const auto read = SafetensorsFromBytes(flipped);
      if (!read.ok()) continue;
      ++read_anyway;  // A flipped name or number is still a file...
      for (const TensorView& tensor : read->tensors) {
        // ...whose views lie inside it.
        ASSERT_GE(tensor.bytes.data(), flipped.data());
        ASSERT_LE(tensor.bytes.data() + tensor.bytes.size(),
                  flipped.data() + flipped.size());
      }
    }
  }
  EXPECT_GT(read_anyway, 0);
}

TEST(SafetensorsTest, SurvivesRandomHeaders) {
  std::mt19937 random(20240601);
  const std::string alphabet = "{}[]\",:\\u0123456789dtypeshapU8F32 ";
  for (int round = 0; round < 20000; ++round) {
    std::string header = "{";
    for (unsigned i = random() % 60; i > 0; --i) {
      header += alphabet[random() % alphabet.size()];
    }
    // Nothing random is a tensor; what counts is that nothing else happens.
    const std::vector<std::byte> bytes = FileOf(header, random() % 4);
    const auto read = SafetensorsFromBytes(bytes);
    EXPECT_TRUE(!read.ok() || read->tensors.empty()) << header;
  }
}

std::vector<std::byte> StateWith(const std::string& tensor, ElementKind element,
                                 std::size_t element_bytes, int64_t version) {
  const std::vector<std::byte> numbers(3 * element_bytes, std::byte{1});
  const std::vector<TensorView> tensors = {
      {.name = tensor, .element = element, .shape = {3}, .bytes = numbers},
      {.name = "version",
       .element = ElementKind::kInt64,
       .shape = {1},
       .bytes = std::as_bytes(std::span(&version, 1))}};
  return SafetensorsBytes(tensors);
}

TEST(StoredPolicyTest, IsFoundInALearnersState) {
  const auto policy =
      PolicyFromState(StateWith("policy/weights", ElementKind::kFloat32, 4, 7),
                      "mlp_gaussian", [](std::span<const std::byte> bytes) {
                        return static_cast<uint32_t>(bytes.size());
                      });
  ASSERT_TRUE(policy.ok()) << policy.status();
  EXPECT_EQ((*policy)->version.value, 7);
  EXPECT_EQ((*policy)->parent, 6);
  EXPECT_EQ((*policy)->kind, "mlp_gaussian");
  ASSERT_EQ((*policy)->tensors.size(), 1u);
  EXPECT_EQ((*policy)->tensors[0],
            (SnapshotTensor{.name = "weights", .shape = {3}, .offset = 0}));
  EXPECT_EQ((*policy)->crc32c, 12u);
}

TEST(StoredPolicyTest, IsMissedWhereThereIsNone) {
  EXPECT_EQ(PolicyFromState(StateWith("x", ElementKind::kFloat32, 4, 7), "k")
                .status()
                .message(),
            "the state has no policy/... tensors");
  EXPECT_EQ(PolicyFromState(SafetensorsBytes({}), "k").status().message(),
            "the state has no int64 tensor version with one element");
  EXPECT_EQ(PolicyFromState({}, "k").status().message(),
            "safetensors: at least 8 bytes are needed, got 0");
}

TEST(StoredPolicyTest, IsRefusedInAnotherPrecision) {
  EXPECT_EQ(
      PolicyFromState(StateWith("policy/w", ElementKind::kFloat64, 8, 7), "k")
          .status()
          .message(),
      "tensor policy/w of the state is not float32");
}

}  // namespace
}  // namespace flywheel
