// Writes the inputs that table_fuzzer starts from, made by the code under test,
// so that they never grow old: write_table_corpus FOLDER.

#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "services/buffer/replay/table_set.h"
#include "tests/buffer/replay/item_samples.h"

namespace flywheel {
namespace {

class Corpus {
 public:
  explicit Corpus(const std::filesystem::path& folder) : folder_(folder) {
    std::filesystem::create_directories(folder);
  }

  void Add(char first_byte, std::span<const std::byte> bytes) {
    std::ofstream file(folder_ / std::to_string(++files_), std::ios::binary);
    file << first_byte;
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }

 private:
  const std::filesystem::path folder_;
  int files_ = 0;
};

// Uses the table a little.
void Use(TableSet& set, const SeededBits& random) {
  ReplayTable& table = *set.tables()[0];
  for (uint64_t key = 0; key < 8; ++key) {
    const TableInsert insert = {
        table.name(),
        ItemOf(key, key, key + key % 3, static_cast<double>(key % 4))};
    set.Insert({&insert, 1}, random).IgnoreError();
    if (!table.Sample(2, random).ok()) continue;
    const std::vector<KeyPriority> updates = {{key / 2, 3.0}};
    table.UpdatePriorities(updates);
  }
  table.Delete(std::vector<uint64_t>{2, 3});
}

void Write(const std::filesystem::path& folder) {
  Corpus corpus(folder);
  for (int sampler = 1; sampler <= 6; ++sampler) {
    auto set = TableSet::Create(
        {{.name = "replay",
          .sampler = {.kind = static_cast<SelectorKind>(sampler)},
          .remover = {.kind = static_cast<SelectorKind>(7 - sampler)},
          .max_times_sampled = 5,
          .items_max = 6}});
    Use(**set, SeededBits(sampler));
    const std::vector<std::byte> image = (*set)->TakeImages()[0].Bytes();
    corpus.Add(0, image);
    corpus.Add(1, std::span(image).first(image.size() - sizeof(uint32_t)));
    corpus.Add(2, (*set)->TakeEvents());
    (*set)->tables()[0]->Reset();
    corpus.Add(2, (*set)->TakeEvents());
  }
}

}  // namespace
}  // namespace flywheel

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: write_table_corpus FOLDER\n";
    return 64;
  }
  flywheel::Write(argv[1]);
  return 0;
}
