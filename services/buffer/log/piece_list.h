#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace flywheel {

// Gathers bytes for one write: small pieces are copied together, large ones are
// referred to, so that neither many small entries nor one large one is slow.
//
// Not thread-safe.
class PieceList {
 public:
  // `bytes` must outlive the list if there are more than kCopiedBytesMax.
  void Add(std::span<const std::byte> bytes) {
    if (bytes.size() > kCopiedBytesMax) {
      pieces_.push_back({bytes.data(), 0, bytes.size()});
    } else {
      copied_.insert(copied_.end(), bytes.begin(), bytes.end());
      GrowCopied(bytes.size());
    }
  }

  void AddZeros(std::size_t count) {
    copied_.resize(copied_.size() + count);
    GrowCopied(count);
  }

  // In order. Valid until the next Add().
  std::vector<std::span<const std::byte>> Pieces() const {
    std::vector<std::span<const std::byte>> pieces;
    pieces.reserve(pieces_.size());
    for (const Piece& piece : pieces_) {
      const std::byte* begin = piece.referred != nullptr
                                   ? piece.referred
                                   : copied_.data() + piece.offset;
      pieces.emplace_back(begin, piece.bytes);
    }
    return pieces;
  }

 private:
  static constexpr std::size_t kCopiedBytesMax = 4096;

  struct Piece {
    const std::byte* referred = nullptr;  // Else at `offset` of copied_.
    std::size_t offset = 0;
    std::size_t bytes = 0;
  };

  void GrowCopied(std::size_t bytes) {
    if (pieces_.empty() || pieces_.back().referred != nullptr) {
      pieces_.push_back({nullptr, copied_.size() - bytes, 0});
    }
    pieces_.back().bytes += bytes;
  }

  std::vector<std::byte> copied_;
  std::vector<Piece> pieces_;
};

}  // namespace flywheel
