#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <span>

namespace flywheel {

// Randomness without state: the same key always gives the same numbers, on any
// machine, in any process, in any order of asking. That is what makes a run
// independent of how many rollouts share its environments.

// Which stream of a job a number belongs to.
enum class RandomStream : uint64_t {
  kActionNoise = 1,
  kEpisodeSeed = 2,
  kDemonstrationSeed = 3,
  kEvaluationSeed = 4,
  kShuffle = 5,
  kSampling = 6,
  kDemonstrationNoise = 7,
};

// One step of the SplitMix64 generator (Steele, Lea, Flood 2014): a bijective
// mix of 64 bits.
constexpr uint64_t MixBits(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// 64 random bits for a key of any length.
template <typename... Parts>
constexpr uint64_t KeyedBits(uint64_t job_seed, RandomStream stream,
                             Parts... parts) {
  uint64_t bits = MixBits(job_seed ^ (static_cast<uint64_t>(stream) << 56));
  ((bits = MixBits(bits ^ static_cast<uint64_t>(parts))), ...);
  return bits;
}

// In (0, 1): never 0, so that its logarithm is finite.
constexpr double UniformFromBits(uint64_t bits) {
  return (static_cast<double>(bits >> 11) + 0.5) * 0x1.0p-53;
}

// Fills `noise` with independent standard normal numbers (Box and Muller).
inline void FillNormal(uint64_t key, std::span<float> noise) {
  for (std::size_t i = 0; i < noise.size(); i += 2) {
    const double radius =
        std::sqrt(-2.0 * std::log(UniformFromBits(MixBits(key + 2 * i))));
    const double angle =
        2.0 * std::numbers::pi * UniformFromBits(MixBits(key + 2 * i + 1));
    noise[i] = static_cast<float>(radius * std::cos(angle));
    if (i + 1 < noise.size()) {
      noise[i + 1] = static_cast<float>(radius * std::sin(angle));
    }
  }
}

}  // namespace flywheel
