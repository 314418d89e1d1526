#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace flywheel {

Terminal StderrTerminal() {
  const char* const term = std::getenv("TERM");
  const bool live = isatty(STDERR_FILENO) != 0 && term != nullptr &&
                    std::string_view(term) != "dumb";
  const char* const no_color = std::getenv("NO_COLOR");
  return {.live = live, .color = live && (!no_color || *no_color == '\0')};
}

int StderrColumns() {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < 20) {
    return 80;
  }
  return size.ws_col;
}

}  // namespace flywheel
