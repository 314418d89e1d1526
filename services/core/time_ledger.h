#pragma once

#include <chrono>
#include <map>
#include <string>
#include <string_view>

namespace flywheel {

// Where one thread's time goes: at any moment it is spent on exactly one cause
// ("busy", "waiting_for_data", ...), so the causes sum to the wall time.
//
// Not thread-safe: belongs to the thread it measures.
class TimeLedger {
 public:
  explicit TimeLedger(std::string_view cause)
      : cause_(cause), since_(std::chrono::steady_clock::now()) {}

  // Time from now on goes to `cause`.
  void Switch(std::string_view cause) {
    Settle();
    cause_ = cause;
  }

  // Seconds by cause, up to this moment.
  const std::map<std::string, double, std::less<>>& Seconds() {
    Settle();
    return seconds_;
  }

 private:
  void Settle() {
    const auto now = std::chrono::steady_clock::now();
    const double spent = std::chrono::duration<double>(now - since_).count();
    const auto entry = seconds_.find(cause_);
    if (entry == seconds_.end()) {
      seconds_.emplace(cause_, spent);
    } else {
      entry->second += spent;
    }
    since_ = now;
  }

  std::string_view cause_;  // A literal.
  std::chrono::steady_clock::time_point since_;
  std::map<std::string, double, std::less<>> seconds_;
};

}  // namespace flywheel
