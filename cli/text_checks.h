#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace flywheel {

// `text` in double quotes, for an error sentence: control characters and quotes
// escaped, cut after 80 bytes, so that it stays one line.
std::string Quoted(std::string_view text);

// `text` as one word of a shell's command line, quoted where need be.
std::string ShellQuoted(std::string_view text);

// Bytes of the UTF-8 character that `text` begins with; 0 if it begins with
// none. REQUIRES: `text` is not empty.
std::size_t CharacterBytes(std::string_view text);

// A control character other than tab, line feed and carriage return.
bool IsControl(char byte);

// The first line, from 1, with bytes that are no UTF-8 text or with control
// characters; 0 if there is none.
int FirstLineThatIsNoText(std::string_view text);

}  // namespace flywheel
