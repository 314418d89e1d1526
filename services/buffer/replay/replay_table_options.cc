#include "services/buffer/replay/replay_table_options.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace flywheel {
namespace {

absl::Status In(const std::string& name, absl::string_view field,
                const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(
      status.code(),
      absl::StrCat("table \"", name, "\": ", field, status.message()));
}

ReplayTableOptions InOrder(std::string name, int64_t size, SelectorKind kind) {
  return {.name = std::move(name),
          .sampler = {.kind = kind},
          .remover = {.kind = kind},
          .rate_limiter = QueueLimiter(size),
          .max_times_sampled = 1,
          .when_full = WhenTableFull::kWait,
          .items_max = static_cast<uint64_t>(size)};
}

absl::Status CheckLimits(const ReplayTableOptions& options) {
  if (options.items_max < 1 || options.items_max > kTableItemsMax) {
    return absl::InvalidArgumentError(absl::StrCat("items_max must be 1 to ",
                                                   kTableItemsMax, ", got ",
                                                   options.items_max));
  }
  if (options.bytes_max < 1) {
    return absl::InvalidArgumentError("bytes_max must be >= 1, got 0");
  }
  if (options.when_full < WhenTableFull::kRemove ||
      options.when_full > WhenTableFull::kWait) {
    return absl::InvalidArgumentError(
        absl::StrCat("when_full must be 1 (remove), 2 (refuse) or 3 (wait), "
                     "got ",
                     options.when_full));
  }
  // Otherwise samples would wait for items that cannot be.
  const auto min_size =
      static_cast<uint64_t>(options.rate_limiter.min_size_to_sample);
  if (min_size > options.items_max) {
    return absl::InvalidArgumentError(
        absl::StrCat("rate_limiter: min_size_to_sample must be at most "
                     "items_max ",
                     options.items_max, ", got ", min_size));
  }
  return absl::OkStatus();
}

std::string InWords(const SelectorOptions& options) {
  return absl::StrCat(SelectorName(options.kind), " with priority_exponent ",
                      options.priority_exponent);
}

std::string InWords(const RateLimiterOptions& options) {
  return absl::StrCat("samples_per_insert ", options.samples_per_insert,
                      ", min_size_to_sample ", options.min_size_to_sample,
                      ", min_diff ", options.min_diff, ", max_diff ",
                      options.max_diff);
}

}  // namespace

ReplayTableOptions QueueTable(std::string name, int64_t size) {
  return InOrder(std::move(name), size, SelectorKind::kFifo);
}

ReplayTableOptions StackTable(std::string name, int64_t size) {
  return InOrder(std::move(name), size, SelectorKind::kLifo);
}

absl::Status Validate(const ReplayTableOptions& options) {
  if (options.name.empty() || options.name.size() > kTableNameBytesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("a table's name must have 1 to ", kTableNameBytesMax,
                     " bytes, got ", options.name.size()));
  }
  for (const absl::Status& status :
       {In(options.name, "sampler: ", Validate(options.sampler)),
        In(options.name, "remover: ", Validate(options.remover)),
        In(options.name, "rate_limiter: ", Validate(options.rate_limiter)),
        In(options.name, "", CheckLimits(options))}) {
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

std::string Differences(const ReplayTableOptions& configured,
                        const ReplayTableOptions& saved) {
  std::vector<std::string> differences;
  const auto compare = [&](absl::string_view field, const auto& now,
                           const auto& before, const auto& words) {
    if (now == before) return;
    differences.push_back(absl::StrCat(field, " is ", words(now),
                                       " in the configuration and ",
                                       words(before), " in what was saved"));
  };
  const auto in_words = [](const auto& value) { return InWords(value); };
  const auto number = [](const auto& value) { return absl::StrCat(value); };
  compare("name", configured.name, saved.name, number);
  compare("sampler", configured.sampler, saved.sampler, in_words);
  compare("remover", configured.remover, saved.remover, in_words);
  compare("rate_limiter", configured.rate_limiter, saved.rate_limiter,
          in_words);
  compare("max_times_sampled", configured.max_times_sampled,
          saved.max_times_sampled, number);
  compare("when_full", configured.when_full, saved.when_full, number);
  compare("items_max", configured.items_max, saved.items_max, number);
  compare("bytes_max", configured.bytes_max, saved.bytes_max, number);
  return absl::StrJoin(differences, "; ");
}

void WriteOptions(const ReplayTableOptions& options, ByteWriter& bytes) {
  bytes.Text(options.name);
  for (const SelectorOptions& selector : {options.sampler, options.remover}) {
    bytes.Byte(static_cast<uint8_t>(selector.kind));
    bytes.Double(selector.priority_exponent);
  }
  bytes.Double(options.rate_limiter.samples_per_insert);
  bytes.Varint(static_cast<uint64_t>(options.rate_limiter.min_size_to_sample));
  bytes.Double(options.rate_limiter.min_diff);
  bytes.Double(options.rate_limiter.max_diff);
  bytes.Varint(options.max_times_sampled);
  bytes.Byte(static_cast<uint8_t>(options.when_full));
  bytes.Varint(options.items_max);
  bytes.Varint(options.bytes_max);
}

ReplayTableOptions ReadOptions(ByteReader& bytes) {
  ReplayTableOptions options;
  options.name = bytes.Text(kTableNameBytesMax);
  for (SelectorOptions* selector : {&options.sampler, &options.remover}) {
    selector->kind = static_cast<SelectorKind>(bytes.Byte());
    selector->priority_exponent = bytes.Double();
  }
  options.rate_limiter.samples_per_insert = bytes.Double();
  options.rate_limiter.min_size_to_sample =
      static_cast<int64_t>(bytes.Varint());
  options.rate_limiter.min_diff = bytes.Double();
  options.rate_limiter.max_diff = bytes.Double();
  options.max_times_sampled = static_cast<uint32_t>(bytes.Varint(~uint32_t{0}));
  options.when_full = static_cast<WhenTableFull>(bytes.Byte());
  options.items_max = bytes.Varint();
  options.bytes_max = bytes.Varint();
  if (!Validate(options).ok()) bytes.Fail();
  return options;
}

}  // namespace flywheel
