#include "cli/yaml_tree.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <sstream>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "cli/text_checks.h"
#include "services/core/status_macros.h"

namespace flywheel {
namespace {

absl::Status AtLine(int line, absl::string_view sentence) {
  return absl::InvalidArgumentError(
      absl::StrCat("line ", line, ": ", sentence));
}

int LineOf(const YAML::Mark& mark) {
  return mark.is_null() ? 1 : mark.line + 1;
}

// Thrown through yaml-cpp, whose parser only an exception can stop.
struct Refused {
  absl::Status status;
};

// Builds the tree from the parser's events. Between OnMapStart() and
// OnMapEnd(), scalars are keys and values in turn.
class TreeBuilder final : public YAML::EventHandler {
 public:
  explicit TreeBuilder(const YamlLimits& limits) : limits_(limits) {}

  YamlNode Take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override {
    Add({.line = LineOf(mark)});
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    throw Refused{AtLine(LineOf(mark), "aliases (*name) are not allowed")};
  }

  void OnAnchor(const YAML::Mark& mark, const std::string& name) override {
    throw Refused{AtLine(
        LineOf(mark), absl::StrCat("anchors (&", name, ") are not allowed"))};
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                const std::string& value) override {
    CheckTag(mark, tag);
    const bool quoted = tag == "!";
    const bool null =
        !quoted && (value.empty() || value == "~" || value == "null" ||
                    value == "Null" || value == "NULL");
    Add({.kind = null ? YamlNode::Kind::kNull : YamlNode::Kind::kScalar,
         .line = LineOf(mark),
         .text = value,
         .quoted = quoted});
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag,
                       YAML::anchor_t, YAML::EmitterStyle::value) override {
    CheckTag(mark, tag);
    Open({.kind = YamlNode::Kind::kSequence, .line = LineOf(mark)});
  }
  void OnSequenceEnd() override { Close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag,
                  YAML::anchor_t, YAML::EmitterStyle::value) override {
    CheckTag(mark, tag);
    Open({.kind = YamlNode::Kind::kMap, .line = LineOf(mark)});
  }
  void OnMapEnd() override { Close(); }

 private:
  // A container that is not closed yet, and the key its next value belongs to.
  struct OpenNode {
    YamlNode node;
    bool has_key = false;
    YamlNode::Entry entry;
  };

  static void CheckTag(const YAML::Mark& mark, const std::string& tag) {
    if (tag.empty() || tag == "?" || tag == "!") return;
    throw Refused{AtLine(LineOf(mark), absl::StrCat("tags (", Quoted(tag),
                                                    ") are not allowed"))};
  }

  void CountNode(int line) {
    if (++nodes_ > limits_.nodes_max) {
      throw Refused{AtLine(
          line, absl::StrCat("more than ", limits_.nodes_max, " values"))};
    }
  }

  void Open(YamlNode node) {
    CountNode(node.line);
    if (ExpectsKey()) RefuseKey(node.line);
    if (static_cast<int>(open_.size()) >= limits_.depth_max) {
      throw Refused{AtLine(
          node.line,
          absl::StrCat("nested deeper than ", limits_.depth_max, " levels"))};
    }
    open_.push_back({.node = std::move(node)});
  }

  void Close() {
    YamlNode node = std::move(open_.back().node);
    open_.pop_back();
    Place(std::move(node));
  }

  void Add(YamlNode node) {
    CountNode(node.line);
    if (ExpectsKey()) {
      SetKey(node);
    } else {
      Place(std::move(node));
    }
  }

  bool ExpectsKey() const {
    return !open_.empty() && open_.back().node.kind == YamlNode::Kind::kMap &&
           !open_.back().has_key;
  }

  [[noreturn]] static void RefuseKey(int line) {
    throw Refused{AtLine(
        line, "a field's name must be plain text; is a bracket left open?")};
  }

  void SetKey(const YamlNode& key) {
    if (key.kind != YamlNode::Kind::kScalar) RefuseKey(key.line);
    OpenNode& map = open_.back();
    const auto earlier =
        std::find_if(map.node.entries.begin(), map.node.entries.end(),
                     [&](const auto& entry) { return entry.key == key.text; });
    if (earlier != map.node.entries.end()) {
      throw Refused{AtLine(
          key.line, absl::StrCat(Quoted(key.text), " is given twice, first on",
                                 " line ", earlier->line))};
    }
    map.has_key = true;
    map.entry = {.key = key.text, .line = key.line};
  }

  void Place(YamlNode node) {
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    OpenNode& parent = open_.back();
    if (parent.node.kind == YamlNode::Kind::kSequence) {
      parent.node.items.push_back(std::move(node));
      return;
    }
    parent.entry.value = std::move(node);
    parent.node.entries.push_back(std::move(parent.entry));
    parent.has_key = false;
  }

  const YamlLimits limits_;
  int nodes_ = 0;
  std::vector<OpenNode> open_;
  YamlNode root_;
};

// yaml-cpp's own words for a tab are hard to understand.
absl::Status CheckIndentation(std::string_view text) {
  int line = 1;
  bool indentation = true;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') {
      ++line;
      indentation = true;
    } else if (indentation && text[i] == '\t') {
      return AtLine(line, "a tab in the indentation; use spaces");
    } else if (text[i] != ' ') {
      indentation = false;
    }
  }
  return absl::OkStatus();
}

absl::Status CheckText(std::string_view text, const YamlLimits& limits) {
  if (text.size() > limits.bytes_max) {
    return absl::InvalidArgumentError(
        absl::StrCat("larger than ", limits.bytes_max, " bytes"));
  }
  if (const int line = FirstLineThatIsNoText(text); line != 0) {
    return AtLine(line, "not UTF-8 text");
  }
  return CheckIndentation(text);
}

}  // namespace

absl::StatusOr<YamlNode> YamlFromText(std::string_view text,
                                      const YamlLimits& limits) try {
  FLYWHEEL_RETURN_IF_ERROR(CheckText(text, limits));
  std::istringstream stream{std::string(text)};
  YAML::Parser parser(stream);
  TreeBuilder builder(limits);
  if (!parser.HandleNextDocument(builder)) return YamlNode{.line = 1};
  TreeBuilder another(limits);
  if (parser.HandleNextDocument(another)) {
    return AtLine(another.Take().line, "a second document; a job file has one");
  }
  return builder.Take();
} catch (const Refused& refused) {
  return refused.status;
} catch (const YAML::Exception& error) {
  return AtLine(LineOf(error.mark), absl::StrCat("not YAML: ", error.msg));
} catch (const std::exception& error) {
  return absl::InvalidArgumentError(absl::StrCat("not YAML: ", error.what()));
}

}  // namespace flywheel
