#include "cli/job_file_codec.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/field_value_codec.h"
#include "cli/likely_name.h"
#include "cli/text_checks.h"
#include "services/core/status_macros.h"

namespace flywheel {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

bool IsSection(const FieldDescriptor& field) {
  return field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
}

std::string Joined(const std::string& section, const std::string& name) {
  return section.empty() ? name : absl::StrCat(section, ".", name);
}

std::vector<std::string> FieldNames(const Descriptor& type) {
  std::vector<std::string> names;
  for (int i = 0; i < type.field_count(); ++i) {
    names.push_back(type.field(i)->name());
  }
  return names;
}

// Where a field called `name` stands in another section; empty if nowhere.
std::string PathOfFieldNamed(const Descriptor& type, const std::string& section,
                             const std::string& name) {
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    const std::string path = Joined(section, field.name());
    if (field.name() == name) return path;
    if (!IsSection(field)) continue;
    const std::string inside =
        PathOfFieldNamed(*field.message_type(), path, name);
    if (!inside.empty()) return inside;
  }
  return "";
}

std::string LikelyField(const Descriptor& type, const std::string& name) {
  const std::string near = LikelyName(name, FieldNames(type));
  return near.empty() ? PathOfFieldNamed(*v1::JobSpec::descriptor(), "", name)
                      : near;
}

// A path as it stands in an error: in quotes if it has odd characters.
std::string Shown(const std::string& path) {
  const bool plain =
      path.size() <= 80 && std::all_of(path.begin(), path.end(), [](char c) {
        return absl::ascii_isalnum(c) || c == '_' || c == '.' || c == '-';
      });
  return plain ? path : Quoted(path);
}

// What went wrong and on which line.
struct FieldError {
  int line = 0;
  std::string message;
};

FieldError UnknownField(const Descriptor& type, const YamlNode::Entry& entry,
                        const std::string& path) {
  const std::string likely = LikelyField(type, entry.key);
  return {entry.line,
          absl::StrCat(Shown(path), ": unknown field",
                       likely.empty() ? ""
                                      : absl::StrCat("; did you mean ",
                                                     Quoted(likely), "?"))};
}

std::optional<FieldError> ReadSection(const YamlNode& map,
                                      const std::string& section,
                                      Message& message);

std::optional<FieldError> ReadField(const YamlNode::Entry& entry,
                                    const std::string& section,
                                    Message& message) {
  const std::string path = Joined(section, entry.key);
  const Descriptor& type = *message.GetDescriptor();
  const FieldDescriptor* const field = type.FindFieldByName(entry.key);
  if (field == nullptr) return UnknownField(type, entry, path);
  if (IsSection(*field)) {
    return ReadSection(
        entry.value, path,
        *message.GetReflection()->MutableMessage(&message, field));
  }
  const absl::Status status = SetField(path, *field, entry.value, message);
  if (status.ok()) return std::nullopt;
  return FieldError{entry.line, std::string(status.message())};
}

std::string Example(const Descriptor& type) {
  return absl::StrCat("\"", type.field(0)->name(), ": …\"");
}

std::optional<FieldError> ReadSection(const YamlNode& map,
                                      const std::string& section,
                                      Message& message) {
  if (map.kind == YamlNode::Kind::kNull) return std::nullopt;
  if (map.kind != YamlNode::Kind::kMap) {
    return FieldError{
        map.line,
        absl::StrCat(section.empty() ? "a job" : section,
                     " must be a map of fields such as ",
                     Example(*message.GetDescriptor()), ", got ",
                     map.kind == YamlNode::Kind::kSequence ? "a list"
                                                           : Quoted(map.text))};
  }
  for (const YamlNode::Entry& entry : map.entries) {
    if (auto error = ReadField(entry, section, message)) return error;
  }
  return std::nullopt;
}

// "a.b=value" as the tree {a: {b: value}}.
absl::StatusOr<YamlNode> TreeFromOverride(const std::string& text) {
  const std::size_t equals = text.find('=');
  const std::string path(absl::StripAsciiWhitespace(text.substr(0, equals)));
  if (equals == std::string::npos || path.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(Quoted(text),
                     " must be path=value, such as "
                     "pacing.max_policy_lag=1"));
  }
  absl::StatusOr<YamlNode> value = YamlFromText(text.substr(equals + 1));
  if (!value.ok()) {
    absl::string_view message = value.status().message();
    absl::ConsumePrefix(&message, "line 1: ");
    return absl::InvalidArgumentError(absl::StrCat(Shown(path), ": ", message));
  }
  const std::vector<std::string> names = absl::StrSplit(path, '.');
  YamlNode node = *std::move(value);
  for (auto name = names.rbegin(); name != names.rend(); ++name) {
    YamlNode parent{.kind = YamlNode::Kind::kMap};
    parent.entries.push_back({.key = *name, .value = std::move(node)});
    node = std::move(parent);
  }
  return node;
}

// The line of the field at `path`, or of its nearest section that is there.
// `depth` is how many names of the path were found.
int LineOfPath(const YamlNode& root, const std::vector<std::string>& path,
               std::size_t& depth) {
  const YamlNode* node = &root;
  int line = root.line;
  for (depth = 0; depth < path.size(); ++depth) {
    const YamlNode* next = nullptr;
    for (const YamlNode::Entry& entry : node->entries) {
      if (entry.key != path[depth]) continue;
      next = &entry.value;
      line = entry.line;
    }
    if (next == nullptr) break;
    node = next;
  }
  return line;
}

}  // namespace

std::string JobFile::Place(const Source& source, int line) {
  return line > 0 ? absl::StrCat(source.name, ":", line, ": ")
                  : absl::StrCat(source.name, ": ");
}

absl::StatusOr<JobFile> JobFile::Parse(const JobText& job) {
  JobFile file;
  absl::StatusOr<YamlNode> root = YamlFromText(job.text);
  if (!root.ok()) {
    absl::string_view message = root.status().message();
    const bool has_line = absl::ConsumePrefix(&message, "line ");
    return absl::InvalidArgumentError(
        absl::StrCat(job.name, has_line ? ":" : ": ", message));
  }
  if (root->kind == YamlNode::Kind::kNull) {
    return absl::InvalidArgumentError(absl::StrCat(
        job.name, ": empty; a job names at least a task and a budget"));
  }
  FLYWHEEL_RETURN_IF_ERROR(file.Read({job.name, *std::move(root)}));
  for (const std::string& text : job.overrides) {
    absl::StatusOr<YamlNode> tree = TreeFromOverride(text);
    if (!tree.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--set: ", tree.status().message()));
    }
    FLYWHEEL_RETURN_IF_ERROR(file.Read({"--set", *std::move(tree)}));
  }
  return file;
}

absl::Status JobFile::Read(Source source) {
  if (const auto error = ReadSection(source.root, "", spec_)) {
    const int line = source.name == "--set" ? 0 : error->line;
    return absl::InvalidArgumentError(
        absl::StrCat(Place(source, line), error->message));
  }
  sources_.push_back(std::move(source));
  return absl::OkStatus();
}

bool JobFile::Gives(std::string_view path) const {
  const std::vector<std::string> names =
      absl::StrSplit(absl::string_view(path.data(), path.size()), '.');
  for (const Source& source : sources_) {
    std::size_t depth = 0;
    LineOfPath(source.root, names, depth);
    if (depth == names.size()) return true;
  }
  return false;
}

std::string JobFile::AtItsPlace(std::string_view sentence) const {
  const absl::string_view text(sentence.data(), sentence.size());
  const std::vector<std::string> names =
      absl::StrSplit(text.substr(0, text.find_first_of(" :")), '.');
  // The last source that gives the field decides; else the file's section.
  std::string place = Place(sources_.front(), 0);
  std::size_t deepest = 0;
  for (const Source& source : sources_) {
    std::size_t depth = 0;
    const int line = LineOfPath(source.root, names, depth);
    if (depth == 0 || depth < deepest) continue;
    deepest = depth;
    place = Place(source, source.name == "--set" ? 0 : line);
  }
  return absl::StrCat(place, text);
}

}  // namespace flywheel
