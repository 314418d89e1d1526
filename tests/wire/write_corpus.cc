// Writes the inputs that the fuzzers of this folder start from, made by the
// code under test, so that they never grow old: write_corpus FOLDER.

#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>

#include "services/wire/crc32c.h"
#include "services/wire/data_codec.h"
#include "services/wire/policy_codec.h"
#include "tests/wire/sample_record.h"

namespace flywheel {
namespace {

class Corpus {
 public:
  explicit Corpus(const std::filesystem::path& folder) : folder_(folder) {
    std::filesystem::create_directories(folder);
  }

  void Add(char first_byte, std::string_view bytes) {
    std::ofstream file(folder_ / std::to_string(++files_), std::ios::binary);
    file << first_byte << bytes;
  }

 private:
  const std::filesystem::path folder_;
  int files_ = 0;
};

std::string_view AsText(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void WriteRecords(const std::filesystem::path& folder) {
  Corpus corpus(folder);
  const std::vector<std::byte> record = SampleRecord();
  corpus.Add(0, AsText(record));
  corpus.Add(1, AsText(record));
  RecordWriter writer(SampleSchema(), 1, 1);
  writer.Begin();
  RecordHeader header = SampleHeader();
  header.num_steps = header.num_chunks = 1;
  corpus.Add(1, AsText(writer.Finish(header)));
  corpus.Add(1, AsText(record).substr(0, 200));
  // Changes: the number of steps, and the items of one more column each time.
  std::string changes;
  const auto change = [&](uint32_t offset, uint32_t value) {
    for (const uint32_t number : {offset, value}) {
      changes.append(reinterpret_cast<const char*>(&number), sizeof(number));
    }
  };
  for (const uint32_t items : {4, 1 << 24}) {
    changes.clear();
    change(offsetof(StoredHeader, fields) + offsetof(RecordHeader, num_steps),
           items);
    for (std::size_t i = sample::kNote; i <= sample::kReward; ++i) {
      change(sizeof(StoredHeader) + i * sizeof(StoredColumn) +
                 offsetof(StoredColumn, items),
             items);
      corpus.Add(2, changes);
    }
  }
}

// As message_fuzzer.cc reads it: the manifest's length before it.
std::string PolicyInput() {
  PolicySnapshot snapshot{
      .version = {7},
      .parent = 6,
      .kind = "mlp_gaussian",
      .tensors = {{"weight", {4, 2}, 0}, {"bias", {4}, 64}}};
  snapshot.bytes.resize(90, std::byte{1});
  snapshot.crc32c = Crc32c(snapshot.bytes);
  const std::vector<MessageFrame> frames =
      PolicyFrames(std::make_shared<const PolicySnapshot>(snapshot));
  std::string input;
  input.push_back(static_cast<char>(frames[0].size()));
  input.push_back(static_cast<char>(frames[0].size() >> 8));
  input.append(frames[0].text()).append(frames[1].text());
  return input;
}

void WriteMessages(const std::filesystem::path& folder) {
  Corpus corpus(folder);
  const auto to = [&](auto message) {
    corpus.Add(0, ToBufferBytes({.worker = 1, .message = message}));
  };
  to(RolloutHello{.schema = SampleSchema(),
                  .num_environments = 2,
                  .environment_step_seconds = 0.5,
                  .held_credits = {3, 4}});
  to(CreditRequest{{1, 2, 3}});
  to(ActingVersion{{5}});
  to(Delivery{.sequence = 1, .credit = 2, .num_records = 3});
  to(LearnerHello{4});
  to(TakeRequest{.step = 5, .waited_share = 0.5});
  to(SampleRequest{.table = "demonstrations", .n = 6});
  to(Release{7});
  const auto from = [&](auto message) {
    corpus.Add(1, FromBufferBytes({.message = message}));
  };
  from(Welcome{.acknowledged_through = 1, .held_credits = {2, 3}});
  from(CreditGrant{{.id = 4, .environment = 5, .deadline = 6}});
  from(CallIn{{7, 8}});
  from(Revocation{.credits = {9}, .reason = "unanswered"});
  from(Acknowledgment{.acknowledged_through = 10, .refused_reason = "full"});
  from(LearnerWelcome{.schema = SampleSchema(), .next_train_step = 11});
  from(TakeReply{.step = 12, .num_records = 13});
  from(SampleReply{.request = 14, .num_records = 15});
  from(Refusal{.reason = "malformed", .message = "why"});
  corpus.Add(2, FetchPolicyBytes({.worker = 1, .newer_than = 2}));
  corpus.Add(3, PolicyInput());
  corpus.Add(4, PolicyInput());
}

}  // namespace
}  // namespace flywheel

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: write_corpus FOLDER\n";
    return 64;
  }
  const std::filesystem::path folder = argv[1];
  flywheel::WriteRecords(folder / "record_fuzzer");
  flywheel::WriteMessages(folder / "message_fuzzer");
  return 0;
}
