#pragma once

#include <vector>

#include "sim/environment_pool.h"

namespace flywheel {

// Waits, when it goes, until no request of the pool is outstanding. Whoever
// owns the memory that requests write into declares one behind that memory, so
// that no thread of the pool writes into what is gone.
class PoolDrain {
 public:
  explicit PoolDrain(EnvironmentPool& pool) : pool_(pool) {}
  ~PoolDrain() {
    std::vector<EnvironmentResult> results;
    pool_.Receive(pool_.outstanding(), results);
  }
  PoolDrain(const PoolDrain&) = delete;
  PoolDrain& operator=(const PoolDrain&) = delete;

 private:
  EnvironmentPool& pool_;
};

}  // namespace flywheel
