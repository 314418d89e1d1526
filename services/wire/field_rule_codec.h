#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <string>

#include "absl/status/status.h"
#include "flywheel/v1/rule.pb.h"

namespace flywheel {

// What the (rule) option of a field means, for any message.

const v1::Rule& RuleOf(const google::protobuf::FieldDescriptor& field);

// Set, or for a list not empty.
bool IsGiven(const google::protobuf::Message& message,
             const google::protobuf::FieldDescriptor& field);

// What a value of `field` must be: "a whole number from 1 to 65536",
// "one of \"none\", \"vtrace\"".
std::string ExpectedValue(const google::protobuf::FieldDescriptor& field);

// Sets `field` of `message` to its rule's default value. REQUIRES: the rule has
// one, of the field's type.
void SetDefault(const google::protobuf::FieldDescriptor& field,
                google::protobuf::Message& message);

// Checks the value of `field`, or each value of a list, which is given.
// InvalidArgument, beginning with `path`: "policy.width must be a whole number
// from 8 to 4096, got 3".
absl::Status CheckRule(const std::string& path,
                       const google::protobuf::FieldDescriptor& field,
                       const google::protobuf::Message& message);

}  // namespace flywheel
