#include "services/buffer/replay/table_events.h"

#include "absl/strings/str_cat.h"
#include "services/buffer/replay/replay_table_options.h"

namespace flywheel {
namespace {

// The first byte of each event.
enum class EventKind : uint8_t {
  kTable = 1,  // The events that follow are about this one.
  kInsert = 2,
  kSample = 3,
  kRemove = 4,
  kPriority = 5,
  kReset = 6,
};

void WriteKind(EventKind kind, ByteWriter& bytes) {
  bytes.Byte(static_cast<uint8_t>(kind));
}

void WriteKeys(std::span<const uint64_t> keys, ByteWriter& bytes) {
  bytes.Varint(keys.size());
  for (const uint64_t key : keys) bytes.Fixed64(key);
}

void WriteEvent(const InsertEvent& event, ByteWriter& bytes) {
  WriteKind(EventKind::kInsert, bytes);
  bytes.Fixed64(event.key);
  bytes.Double(event.priority);
  bytes.Varint(event.records.size());
  uint64_t before = 0;
  for (const RecordId record : event.records) {
    bytes.Difference(before, record.value);
    before = record.value;
  }
  bytes.Varint(event.first_offset);
  bytes.Varint(event.num_steps);
}

void WriteEvent(const SampleEvent& event, ByteWriter& bytes) {
  WriteKind(EventKind::kSample, bytes);
  WriteKeys(event.keys, bytes);
}

void WriteEvent(const RemoveEvent& event, ByteWriter& bytes) {
  WriteKind(EventKind::kRemove, bytes);
  bytes.Byte(static_cast<uint8_t>(event.cause));
  WriteKeys(event.keys, bytes);
}

void WriteEvent(const PriorityEvent& event, ByteWriter& bytes) {
  WriteKind(EventKind::kPriority, bytes);
  bytes.Varint(event.priorities.size());
  for (const KeyPriority& priority : event.priorities) {
    bytes.Fixed64(priority.key);
    bytes.Double(priority.priority);
  }
}

void WriteEvent(const ResetEvent& /*event*/, ByteWriter& bytes) {
  WriteKind(EventKind::kReset, bytes);
}

double ReadPriority(ByteReader& bytes) {
  const double priority = bytes.Double();
  if (!CheckPriority(priority).ok()) bytes.Fail();
  return priority;
}

// How many things of at least `bytes_each` follow.
std::size_t ReadCount(std::size_t bytes_each, ByteReader& bytes) {
  return bytes.Varint(bytes.left() / bytes_each);
}

std::vector<uint64_t> ReadKeys(ByteReader& bytes) {
  std::vector<uint64_t> keys(ReadCount(sizeof(uint64_t), bytes));
  for (uint64_t& key : keys) key = bytes.Fixed64();
  return keys;
}

InsertEvent ReadInsert(ByteReader& bytes) {
  constexpr uint64_t kMax32 = ~uint32_t{0};
  InsertEvent event;
  event.key = bytes.Fixed64();
  event.priority = ReadPriority(bytes);
  event.records.resize(bytes.Varint(kItemRecordsMax));
  uint64_t before = 0;
  for (RecordId& record : event.records) {
    record.value = before = bytes.Difference(before);
  }
  event.first_offset = static_cast<uint32_t>(bytes.Varint(kMax32));
  event.num_steps = static_cast<uint32_t>(bytes.Varint(kMax32));
  if (event.records.empty() || event.num_steps == 0) bytes.Fail();
  return event;
}

RemoveEvent ReadRemove(ByteReader& bytes) {
  RemoveEvent event = {.cause = static_cast<RemovalCause>(bytes.Byte())};
  if (event.cause < RemovalCause::kFull || event.cause > RemovalCause::kLost) {
    bytes.Fail();
  }
  const std::vector<uint64_t> keys = ReadKeys(bytes);
  event.keys.assign(keys.begin(), keys.end());
  return event;
}

PriorityEvent ReadPriorities(ByteReader& bytes) {
  PriorityEvent event;
  event.priorities.resize(ReadCount(sizeof(KeyPriority), bytes));
  for (KeyPriority& priority : event.priorities) {
    priority.key = bytes.Fixed64();
    priority.priority = ReadPriority(bytes);
  }
  return event;
}

TableEvent ReadEvent(EventKind kind, ByteReader& bytes) {
  switch (kind) {
    case EventKind::kInsert:
      return ReadInsert(bytes);
    case EventKind::kSample:
      return SampleEvent{ReadKeys(bytes)};
    case EventKind::kRemove:
      return ReadRemove(bytes);
    case EventKind::kPriority:
      return ReadPriorities(bytes);
    case EventKind::kReset:
      return ResetEvent{};
    case EventKind::kTable:
      break;
  }
  bytes.Fail();
  return ResetEvent{};
}

}  // namespace

void TableEvents::Add(std::string_view table, const TableEvent& event) {
  if (table_ != table) {
    table_ = table;
    WriteKind(EventKind::kTable, bytes_);
    bytes_.Text(table);
  }
  std::visit([this](const auto& what) { WriteEvent(what, bytes_); }, event);
}

std::vector<std::byte> TableEvents::Take() {
  table_.clear();
  return bytes_.Take();
}

absl::StatusOr<std::vector<NamedTableEvent>> TableEventsFromBytes(
    std::span<const std::byte> bytes) {
  ByteReader reader(bytes);
  std::vector<NamedTableEvent> events;
  std::string table;
  while (reader.left() > 0) {
    const auto kind = static_cast<EventKind>(reader.Byte());
    if (kind == EventKind::kTable) {
      table = reader.Text(kTableNameBytesMax);
    } else {
      events.push_back({.table = table, .event = ReadEvent(kind, reader)});
    }
    if (!reader.ok() || table.empty()) {
      return absl::DataLossError(absl::StrCat(
          "table events of ", bytes.size(), " bytes: event ", events.size(),
          " of kind ", kind, " is cut short or has a value out of range"));
    }
  }
  return events;
}

}  // namespace flywheel
