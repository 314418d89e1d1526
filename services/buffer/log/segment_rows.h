#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "services/buffer/log/segment_layout.h"

namespace flywheel {

// The rows of a segment that takes no more entries, in the order of ids: in its
// mapped footer, or in memory where the footer could not be written.
class SegmentRows {
 public:
  SegmentRows() = default;
  SegmentRows(std::shared_ptr<const void> owner,
              std::span<const SegmentRow> rows)
      : owner_(std::move(owner)), rows_(rows) {}
  explicit SegmentRows(std::vector<SegmentRow> rows) {
    auto kept =
        std::make_shared<const std::vector<SegmentRow>>(std::move(rows));
    rows_ = *kept;
    owner_ = std::move(kept);
  }

  std::span<const SegmentRow> rows() const { return rows_; }

 private:
  std::shared_ptr<const void> owner_;
  std::span<const SegmentRow> rows_;
};

}  // namespace flywheel
