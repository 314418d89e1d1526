#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace flywheel {

// `text` as a Protobuf string can carry it: at most `max_bytes`, and '?' for
// each byte that is not part of valid UTF-8. An error may quote any bytes, and
// one bad byte would make the whole message unreadable.
std::string Utf8Text(std::string_view text, std::size_t max_bytes);

}  // namespace flywheel
