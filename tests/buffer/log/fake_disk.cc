#include "tests/buffer/log/fake_disk.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace flywheel {
namespace {

constexpr uint64_t kPage = 4096;
using Page = std::vector<std::byte>;

void Require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

struct FakeDisk::Node {
  Node() : file(memfd_create("fake", MFD_CLOEXEC)) { Require(file >= 0); }
  ~Node() { close(file); }

  uint64_t Size() const {
    struct stat status {};
    Require(fstat(file, &status) == 0);
    return static_cast<uint64_t>(status.st_size);
  }

  Page ReadPage(uint64_t number) const {
    Page page(kPage);
    const ssize_t bytes =
        pread(file, page.data(), kPage, static_cast<off_t>(number * kPage));
    Require(bytes >= 0);
    return page;
  }

  void WriteAll(std::span<const std::byte> bytes, uint64_t offset) const {
    Require(
        pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(offset)) ==
        static_cast<ssize_t>(bytes.size()));
  }

  void Write(std::span<const std::byte> bytes, uint64_t offset) {
    if (bytes.empty()) return;
    WriteAll(bytes, offset);
    const uint64_t last = (offset + bytes.size() - 1) / kPage;
    for (uint64_t page = offset / kPage; page <= last; ++page) {
      unsynced[page].push_back(ReadPage(page));
    }
  }

  void Sync() {
    for (auto& [number, versions] : unsynced) {
      synced[number] = std::move(versions.back());
    }
    unsynced.clear();
    synced_bytes = Size();
  }

  // What the disk has of it, unsynced pages in any of their states.
  std::shared_ptr<Node> AfterPowerLoss(std::mt19937_64& random) const {
    auto node = std::make_shared<Node>();
    // A new length comes with the sync, or earlier.
    const uint64_t bytes = random() % 2 == 0 ? Size() : synced_bytes;
    std::map<uint64_t, Page> pages = synced;
    for (const auto& [number, versions] : unsynced) {
      const std::size_t state = random() % (versions.size() + 1);
      if (state > 0) pages[number] = versions[state - 1];
    }
    for (const auto& [number, page] : pages) {
      node->WriteAll(page, number * kPage);
    }
    Require(ftruncate(node->file, static_cast<off_t>(bytes)) == 0);
    node->TakeAsSynced();
    return node;
  }

  std::shared_ptr<Node> Copy() const {
    auto node = std::make_shared<Node>();
    Require(ftruncate(node->file, static_cast<off_t>(Size())) == 0);
    for (uint64_t page = 0; page * kPage < Size(); ++page) {
      const Page bytes = ReadPage(page);
      node->WriteAll(
          std::span(bytes).first(std::min(kPage, Size() - page * kPage)),
          page * kPage);
    }
    node->TakeAsSynced();
    return node;
  }

  void TakeAsSynced() {
    synced_bytes = Size();
    for (uint64_t page = 0; page * kPage < synced_bytes; ++page) {
      synced[page] = ReadPage(page);
    }
  }

  const int file;
  std::map<uint64_t, Page> synced;  // By number of the page.
  uint64_t synced_bytes = 0;
  // After each write since the last sync.
  std::map<uint64_t, std::vector<Page>> unsynced;
};

class FakeDisk::File final : public LogFile {
 public:
  File(FakeDisk& disk, std::string name, std::shared_ptr<Node> node)
      : disk_(disk), name_(std::move(name)), node_(std::move(node)) {}

  const std::string& name() const override { return name_; }

  absl::Status Write(
      uint64_t offset,
      std::span<const std::span<const std::byte>> pieces) override {
    std::vector<std::byte> bytes;
    for (const auto piece : pieces) {
      bytes.insert(bytes.end(), piece.begin(), piece.end());
    }
    MutexLock lock(disk_.mutex_);
    const std::optional<uint64_t> fails = disk_.failing_write_;
    disk_.failing_write_.reset();
    if (!fails.has_value()) {
      node_->Write(bytes, offset);
      return absl::OkStatus();
    }
    const std::size_t part = std::min<std::size_t>(*fails, bytes.size());
    node_->Write(std::span(bytes).first(part), offset);
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot write ", name_, ": No space left on device"));
  }

  absl::Status Sync() override {
    MutexLock lock(disk_.mutex_);
    ++disk_.num_syncs_;
    if (disk_.fail_syncs_) {
      return absl::UnavailableError(
          absl::StrCat("cannot sync ", name_, ": Input/output error"));
    }
    node_->Sync();
    return absl::OkStatus();
  }

  // The range holds zeros, before and after.
  void Release(uint64_t offset, uint64_t bytes) override {
    Require(fallocate(node_->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                      static_cast<off_t>(offset),
                      static_cast<off_t>(bytes)) == 0);
  }

  void MakeReadOnly() override {}

  absl::StatusOr<std::shared_ptr<const MappedFile>> Map() override {
    return MappedFile::Map(node_->file, node_->Size(), name_);
  }
  absl::StatusOr<uint64_t> Bytes() override { return node_->Size(); }
  absl::StatusOr<uint64_t> DiskBytes() override {
    struct stat status {};
    Require(fstat(node_->file, &status) == 0);
    return static_cast<uint64_t>(status.st_blocks) * 512;
  }

 private:
  FakeDisk& disk_;
  const std::string name_;
  const std::shared_ptr<Node> node_;
};

FakeDisk::FakeDisk() = default;
FakeDisk::~FakeDisk() = default;

absl::StatusOr<std::unique_ptr<LogFile>> FakeDisk::Create(
    const std::string& name, uint64_t bytes, uint64_t spare_bytes) {
  MutexLock lock(mutex_);
  if (room_.has_value() && *room_ < bytes + spare_bytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot preallocate ", bytes, " bytes for ", name));
  }
  if (room_.has_value()) *room_ -= bytes;
  Require(!names_.contains(name));
  auto node = std::make_shared<Node>();
  Require(fallocate(node->file, 0, 0, static_cast<off_t>(bytes)) == 0);
  Change({.added = name, .node = node});
  return std::make_unique<File>(*this, name, std::move(node));
}

absl::StatusOr<std::unique_ptr<LogFile>> FakeDisk::Open(
    const std::string& name) {
  MutexLock lock(mutex_);
  const auto found = names_.find(name);
  if (found == names_.end()) return absl::NotFoundError(name);
  return std::make_unique<File>(*this, name, found->second);
}

absl::StatusOr<std::vector<std::string>> FakeDisk::List() {
  MutexLock lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [name, node] : names_) names.push_back(name);
  return names;
}

absl::Status FakeDisk::Rename(const std::string& from, const std::string& to) {
  MutexLock lock(mutex_);
  const auto found = names_.find(from);
  if (found == names_.end()) return absl::NotFoundError(from);
  Change({.removed = from, .added = to, .node = found->second});
  return absl::OkStatus();
}

absl::Status FakeDisk::Remove(const std::string& name) {
  MutexLock lock(mutex_);
  if (!names_.contains(name)) return absl::NotFoundError(name);
  Change({.removed = name});
  return absl::OkStatus();
}

absl::Status FakeDisk::SyncFolder() {
  MutexLock lock(mutex_);
  ++num_syncs_;
  if (fail_syncs_) return absl::UnavailableError("cannot sync the folder");
  synced_names_ = names_;
  unsynced_changes_.clear();
  return absl::OkStatus();
}

std::unique_ptr<FakeDisk> FakeDisk::AfterPowerLoss(std::mt19937_64& random) {
  auto disk = std::make_unique<FakeDisk>();
  MutexLock lock(mutex_);
  MutexLock other_lock(disk->mutex_);
  Names names = synced_names_;
  for (const FolderChange& change : unsynced_changes_) {
    if (random() % 2 == 0) Apply(change, names);
  }
  // A rename that was kept alone leaves no second name for its file.
  for (const auto& [name, node] : names) {
    disk->names_[name] = node->AfterPowerLoss(random);
  }
  disk->synced_names_ = disk->names_;
  return disk;
}

std::unique_ptr<FakeDisk> FakeDisk::Copy() {
  auto disk = std::make_unique<FakeDisk>();
  MutexLock lock(mutex_);
  MutexLock other_lock(disk->mutex_);
  for (const auto& [name, node] : names_) disk->names_[name] = node->Copy();
  disk->synced_names_ = disk->names_;
  return disk;
}

std::vector<std::byte> FakeDisk::Bytes(const std::string& name) {
  MutexLock lock(mutex_);
  const std::shared_ptr<Node>& node = names_.at(name);
  std::vector<std::byte> bytes(node->Size());
  Require(pread(node->file, bytes.data(), bytes.size(), 0) ==
          static_cast<ssize_t>(bytes.size()));
  return bytes;
}

void FakeDisk::SetBytes(const std::string& name,
                        const std::vector<std::byte>& bytes) {
  MutexLock lock(mutex_);
  auto node = std::make_shared<Node>();
  Require(ftruncate(node->file, static_cast<off_t>(bytes.size())) == 0);
  node->WriteAll(bytes, 0);
  node->TakeAsSynced();
  names_[name] = synced_names_[name] = node;
}

void FakeDisk::SetRoom(std::optional<uint64_t> bytes) {
  MutexLock lock(mutex_);
  room_ = bytes;
}

void FakeDisk::FailNextWriteAfter(uint64_t bytes) {
  MutexLock lock(mutex_);
  failing_write_ = bytes;
}

void FakeDisk::FailSyncs(bool fail) {
  MutexLock lock(mutex_);
  fail_syncs_ = fail;
}

int FakeDisk::num_syncs() {
  MutexLock lock(mutex_);
  return num_syncs_;
}

void FakeDisk::Apply(const FolderChange& change, Names& names) {
  if (!change.removed.empty()) names.erase(change.removed);
  if (!change.added.empty()) names[change.added] = change.node;
}

void FakeDisk::Change(FolderChange change) {
  Apply(change, names_);
  unsynced_changes_.push_back(std::move(change));
}

}  // namespace flywheel
