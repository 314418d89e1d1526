#include "cli/html_text.h"

#include <cstddef>

#include "cli/text_checks.h"

namespace flywheel {

std::string HtmlText(std::string_view text) {
  std::string html;
  html.reserve(text.size());
  while (!text.empty()) {
    const std::size_t size = CharacterBytes(text);
    const char c = text[0];
    if (size == 0 || IsControl(c)) {
      html += "\xef\xbf\xbd";
    } else if (c == '&') {
      html += "&amp;";
    } else if (c == '<') {
      html += "&lt;";
    } else if (c == '>') {
      html += "&gt;";
    } else if (c == '"') {
      html += "&quot;";
    } else if (c == '\'') {
      html += "&#39;";
    } else {
      html += text.substr(0, size);
    }
    text.remove_prefix(size == 0 ? 1 : size);
  }
  return html;
}

}  // namespace flywheel
