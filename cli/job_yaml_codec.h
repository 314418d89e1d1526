#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <string>

#include "flywheel/v1/job.pb.h"

namespace flywheel {

// Every field that `job` has set, as YAML in the order of job.proto.
// JobFile::Parse() reads it back to the same job, bit for bit.
std::string JobToYaml(const v1::JobSpec& job);

// The value of one field, no message, on one line: "[64, 64]".
std::string FieldToYaml(const google::protobuf::Message& message,
                        const google::protobuf::FieldDescriptor& field);

}  // namespace flywheel
