#pragma once

#include <chrono>
#include <functional>
#include <thread>

namespace flywheel {

// Looks every few milliseconds until `condition` holds, for what nothing tells
// of: states of other processes. False if `limit` passed first.
inline bool WaitUntil(const std::function<bool()>& condition,
                      std::chrono::milliseconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

}  // namespace flywheel
