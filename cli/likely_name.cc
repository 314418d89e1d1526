#include "cli/likely_name.h"

#include <algorithm>
#include <cctype>
#include <cstddef>

namespace flywheel {
namespace {

// Longer words are no field's name, and the table below grows with them.
constexpr std::size_t kLengthMax = 64;

char Folded(char c) {
  if (c == '-' || c == ' ') return '_';
  return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

// Optimal string alignment distance: changes, insertions, deletions and swaps
// of neighbors that turn `a` into `b`; case and -, _ count as equal.
std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> distance(
      a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) distance[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) distance[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = Folded(a[i - 1]) == Folded(b[j - 1]);
      distance[i][j] = std::min({distance[i - 1][j] + 1, distance[i][j - 1] + 1,
                                 distance[i - 1][j - 1] + (same ? 0 : 1)});
      if (i > 1 && j > 1 && Folded(a[i - 1]) == Folded(b[j - 2]) &&
          Folded(a[i - 2]) == Folded(b[j - 1])) {
        distance[i][j] = std::min(distance[i][j], distance[i - 2][j - 2] + 1);
      }
    }
  }
  return distance[a.size()][b.size()];
}

}  // namespace

std::string LikelyName(std::string_view text,
                       const std::vector<std::string>& names) {
  if (text.empty() || text.size() > kLengthMax) return "";
  // A third of the letters may be wrong: beyond that it is another word.
  std::size_t nearest = std::max<std::size_t>(1, text.size() / 3) + 1;
  std::string likely;
  for (const std::string& name : names) {
    const std::size_t distance = EditDistance(text, name);
    if (distance < nearest) {
      nearest = distance;
      likely = name;
    }
  }
  return likely;
}

}  // namespace flywheel
