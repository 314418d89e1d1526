#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <string>

#include "absl/status/status.h"
#include "cli/yaml_tree.h"

namespace flywheel {

// Sets `field` of `message`, a number, a text, a boolean or a list of them, to
// what `value` says; null leaves a field unset whose rule says may_be_unset.
//
// InvalidArgument, beginning with `path`, if it has another type or breaks the
// field's rule: "algorithm.epochs must be a whole number from 1 to 100, got
// \"lots\"". REQUIRES: `field` is no message.
absl::Status SetField(const std::string& path,
                      const google::protobuf::FieldDescriptor& field,
                      const YamlNode& value,
                      google::protobuf::Message& message);

}  // namespace flywheel
