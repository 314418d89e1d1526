#pragma once

namespace flywheel {

// What stderr can show.
struct Terminal {
  bool live = false;   // Lines may be redrawn in place.
  bool color = false;  // And colored: NO_COLOR is not set.
};

// Asks the system. TERM=dumb is no terminal.
Terminal StderrTerminal();

// Columns of the terminal at stderr now; 80 if unknown.
int StderrColumns();

}  // namespace flywheel
