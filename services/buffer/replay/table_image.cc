#include "services/buffer/replay/table_image.h"

#include "absl/strings/str_cat.h"
#include "services/buffer/replay/replay_item.h"

namespace flywheel {
namespace {

// The fields of both, in the order in which they are stored.
template <typename Limiter, typename Counts, typename Visit>
void VisitCounts(Limiter& limiter, Counts& counts, Visit visit) {
  for (auto* count :
       {&limiter.inserts, &limiter.samples, &limiter.deletes, &counts.inserted,
        &counts.sampled, &counts.sampled_once, &counts.removed_full,
        &counts.removed_sampled, &counts.deleted, &counts.lost, &counts.reset,
        &counts.priorities_set}) {
    visit(*count);
  }
}

// Leaves room for all that will ever be counted.
constexpr uint64_t kCountMax = uint64_t{1} << 62;

// Of an item with one record, all numbers small.
constexpr std::size_t kItemBytesMin = 2 * sizeof(uint64_t) + 5;

}  // namespace

absl::Status TableImage::Write(ByteSink sink) const {
  ImageWriter image(sink);
  ByteWriter& bytes = image.bytes();
  bytes.Fixed32(kTableImageMagic);
  bytes.Fixed32(kTableImageVersion);
  WriteOptions(options_, bytes);
  VisitCounts(limiter_counts_, counts_, [&](int64_t count) {
    bytes.Varint(static_cast<uint64_t>(count));
  });
  bytes.Varint(items_.size());
  WriteItems(image);
  if (sampler_ != nullptr) sampler_->Write(image);
  if (remover_ != nullptr) remover_->Write(image);
  return image.Finish();
}

std::vector<std::byte> TableImage::Bytes() const {
  std::vector<std::byte> bytes;
  // This sink never fails.
  Write([&](std::span<const std::byte> piece) {
    bytes.insert(bytes.end(), piece.begin(), piece.end());
    return absl::OkStatus();
  }).IgnoreError();
  return bytes;
}

void TableImage::WriteItems(ImageWriter& image) const {
  ByteWriter& bytes = image.bytes();
  uint64_t before = 0;
  for (std::size_t slot = 0; slot < items_.size(); ++slot) {
    const StoredItem& item = items_[slot];
    bytes.Fixed64(item.key);
    bytes.Double(item.priority);
    uint64_t num_records = 0;
    ForEachRecord(item, links_, [&](RecordSlot) { ++num_records; });
    bytes.Varint(num_records);
    uint64_t first = before;
    uint64_t last = before;
    bool is_first = true;
    ForEachRecord(item, links_, [&](RecordSlot record) {
      const uint64_t id = records_[record].id;
      bytes.Difference(last, id);
      if (is_first) first = id;
      is_first = false;
      last = id;
    });
    before = first;
    bytes.Varint(item.first_offset);
    bytes.Varint(item.num_steps);
    bytes.Varint(item.times_sampled);
    image.MayFlush();
  }
}

absl::StatusOr<TableImageHead> ReadImageHead(ByteReader& image) {
  const uint32_t magic = image.Fixed32();
  const uint32_t version = image.Fixed32();
  if (!image.ok() || magic != kTableImageMagic) {
    return absl::DataLossError(absl::StrCat(
        "image of a table must begin with ", absl::Hex(kTableImageMagic),
        ", begins with ", absl::Hex(magic)));
  }
  if (version != kTableImageVersion) {
    return absl::DataLossError(
        absl::StrCat("image of a table: version must be ", kTableImageVersion,
                     ", is ", version));
  }
  TableImageHead head;
  head.options = ReadOptions(image);
  VisitCounts(head.limiter_counts, head.counts, [&](int64_t& count) {
    count = static_cast<int64_t>(image.Varint(kCountMax));
  });
  head.num_items = image.Varint(image.left() / kItemBytesMin);
  const RateLimiterCounts& counts = head.limiter_counts;
  if (!image.ok() ||
      counts.inserts - counts.deletes != static_cast<int64_t>(head.num_items)) {
    return absl::DataLossError(absl::StrCat(
        "image of table \"", head.options.name,
        "\": options and counts are cut short, out of range, or not those of ",
        head.num_items, " items"));
  }
  return head;
}

StoredItem ReadImageItem(ByteReader& image, RecordId before,
                         std::vector<RecordId>& records) {
  constexpr uint64_t kMax32 = ~uint32_t{0};
  StoredItem item;
  item.key = image.Fixed64();
  item.priority = image.Double();
  records.resize(image.Varint(kItemRecordsMax));
  for (RecordId& record : records) {
    record.value = image.Difference(before.value);
    before = record;
  }
  item.first_offset = static_cast<uint32_t>(image.Varint(kMax32));
  item.num_steps = static_cast<uint32_t>(image.Varint(kMax32));
  item.times_sampled = static_cast<uint32_t>(image.Varint(kMax32));
  if (records.empty() || item.num_steps == 0 ||
      !CheckPriority(item.priority).ok()) {
    image.Fail();
  }
  return item;
}

}  // namespace flywheel
