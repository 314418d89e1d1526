#pragma once

#include "services/wire/message_frame.h"
#include "services/wire/record.h"

namespace flywheel {

// A checked record: the bytes as they came, and what its header says.
struct StoredRecord {
  RecordHeader header;
  MessageFrame frame;
};

}  // namespace flywheel
