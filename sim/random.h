#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

namespace flywheel {

// Random numbers for resets: the same on every platform, unlike the standard
// library's distributions. SplitMix64 (Steele, Lea, Flood 2014).
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t Bits() {
    state_ += 0x9e3779b97f4a7c15u;
    uint64_t x = state_;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  }

  // In [low, high).
  double Uniform(double low, double high) {
    return low + (high - low) * static_cast<double>(Bits() >> 11) * 0x1.0p-53;
  }

  // In [0, count). The bias is below count / 2^64.
  int Index(int count) {
    return static_cast<int>(Bits() % static_cast<uint64_t>(count));
  }

  // Standard normal (Box and Muller).
  double Normal() {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - Uniform(0, 1)));
    return radius * std::cos(2.0 * std::numbers::pi * Uniform(0, 1));
  }

 private:
  uint64_t state_;
};

}  // namespace flywheel
