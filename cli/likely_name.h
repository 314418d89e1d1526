#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace flywheel {

// The name in `names` that `text` is most likely a misspelling of (few letters
// changed, added, left out or swapped with a neighbor); empty if none is near.
std::string LikelyName(std::string_view text,
                       const std::vector<std::string>& names);

}  // namespace flywheel
