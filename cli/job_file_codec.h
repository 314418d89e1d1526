#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/yaml_tree.h"
#include "flywheel/v1/job.pb.h"

namespace flywheel {

// What a user wrote: the text of a job file and the `--set path=value` that
// change it, in their order.
struct JobText {
  std::string name;  // Of the file, for errors.
  std::string text;
  std::vector<std::string> overrides;  // "pacing.max_policy_lag=1"
};

// A job as it was written: only the fields that were given are set, each of
// the right type and in its range. Knows where each field stands.
class JobFile {
 public:
  // InvalidArgument, one sentence with place, field, rule, value and, for a
  // misspelling, the likely name:
  // `x.yaml:7: algorithm.unrol_length: unknown field; did you mean ...?`
  static absl::StatusOr<JobFile> Parse(const JobText& job);

  const v1::JobSpec& spec() const { return spec_; }

  // Whether the field at `path` ("policy.width") was given.
  bool Gives(std::string_view path) const;

  // `sentence`, which begins with a field's path, with the place where that
  // field was given (or else its section) in front.
  std::string AtItsPlace(std::string_view sentence) const;

 private:
  // A tree of values and the name errors about it begin with.
  struct Source {
    std::string name;
    YamlNode root;
  };

  // "x.yaml:7: ", "--set: ".
  static std::string Place(const Source& source, int line);

  absl::Status Read(Source source);

  v1::JobSpec spec_;
  std::vector<Source> sources_;  // The file, then each --set.
};

}  // namespace flywheel
