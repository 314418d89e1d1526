#pragma once

#include <string>
#include <string_view>

namespace flywheel {

// `text` so that HTML and SVG show it as it is, in elements and in attributes
// in double quotes: no text can become markup. Control characters and bytes
// that are no UTF-8 text become U+FFFD.
std::string HtmlText(std::string_view text);

}  // namespace flywheel
