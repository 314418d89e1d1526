#include "services/policy/acting_rows.h"

#include <cstdio>
#include <cstdlib>

namespace flywheel {
namespace {

void CheckSize(const char* name, std::size_t size, int64_t wanted) {
  if (size == static_cast<std::size_t>(wanted)) return;
  std::fprintf(stderr, "ActingRows.%s must have %lld elements, got %zu\n", name,
               static_cast<long long>(wanted), size);
  std::abort();
}

}  // namespace

void CheckActingRows(const ActingRows& rows, const PolicyShape& shape) {
  const int64_t steps = rows.rows * shape.action_chunk;
  CheckSize("image", rows.image.size(), rows.rows * shape.image_bytes());
  CheckSize("state", rows.state.size(), rows.rows * shape.state_size);
  if (!rows.instructions.empty()) {
    CheckSize("instructions", rows.instructions.size(), rows.rows);
  }
  if (!rows.noise.empty()) {
    CheckSize("noise", rows.noise.size(), steps * shape.action_size);
  }
  CheckSize("actions", rows.actions.size(), steps * shape.action_size);
  CheckSize("log_probability", rows.log_probability.size(), steps);
  CheckSize("value", rows.value.size(), rows.rows);
}

}  // namespace flywheel
