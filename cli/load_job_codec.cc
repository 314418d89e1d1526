#include "cli/load_job_codec.h"

#include <memory>
#include <system_error>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/file_text.h"
#include "cli/job_file_codec.h"
#include "cli/job_yaml_codec.h"
#include "cli/likely_name.h"
#include "cli/task_check.h"
#include "cli/yaml_tree.h"
#include "services/wire/field_rule_codec.h"
#include "services/wire/job_rules_codec.h"
#include "services/wire/job_spec_codec.h"

namespace flywheel {
namespace {

// A field that means something only where the job is of one kind.
struct ConditionalField {
  std::string path;
  bool applies = false;
  std::string because;
};

// Whether the field at `path`, "section.field", has its default value, as all
// fields of a resolved job that nobody changed.
bool IsDefault(const v1::JobSpec& job, const std::string& path) {
  const std::vector<std::string> names = absl::StrSplit(path, '.');
  const google::protobuf::Message& section = job.GetReflection()->GetMessage(
      job, job.GetDescriptor()->FindFieldByName(names[0]));
  const google::protobuf::FieldDescriptor& field =
      *section.GetDescriptor()->FindFieldByName(names[1]);
  const std::unique_ptr<google::protobuf::Message> fresh(section.New());
  SetDefault(field, *fresh);
  return FieldToYaml(section, field) == FieldToYaml(*fresh, field);
}

// Fields that were given but have no effect on this job.
std::vector<std::string> IdleFields(const JobFile& file,
                                    const v1::JobSpec& job) {
  const bool vla = job.policy().kind() == "tiny_vla";
  const bool vtrace = job.algorithm().correction() == "vtrace";
  const bool imitates = job.pretraining().demonstrations() != "none";
  const bool evaluates = job.evaluation().has_every_environment_steps();
  const std::string kind = absl::StrCat("policy.kind is ", job.policy().kind());
  const ConditionalField fields[] = {
      {"policy.hidden_sizes", !vla, kind},
      {"policy.activation", !vla, kind},
      {"policy.width", vla, kind},
      {"policy.layers", vla, kind},
      {"policy.heads", vla, kind},
      {"policy.patch", vla, kind},
      {"algorithm.vtrace_rho_max", vtrace, "algorithm.correction is none"},
      {"algorithm.vtrace_c_max", vtrace, "algorithm.correction is none"},
      {"pretraining.episodes", imitates, "pretraining.demonstrations is none"},
      {"pretraining.epochs", imitates, "pretraining.demonstrations is none"},
      {"pretraining.seconds", imitates, "pretraining.demonstrations is none"},
      {"evaluation.episodes_during_training", evaluates,
       "evaluation.every_environment_steps is not given"},
  };
  std::vector<std::string> warnings;
  for (const auto& [path, applies, because] : fields) {
    if (applies || !file.Gives(path) || IsDefault(job, path)) continue;
    warnings.push_back(file.AtItsPlace(
        absl::StrCat(std::string(path), " has no effect, since ", because)));
  }
  return warnings;
}

// The file beside `path` whose name is most like it, as a question.
std::string DidYouMean(const std::filesystem::path& path) {
  std::vector<std::string> names;
  std::error_code error;
  const std::filesystem::path folder =
      path.has_parent_path() ? path.parent_path() : ".";
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() != ".yaml") continue;
    names.push_back(entry.path().filename());
  }
  const std::string likely = LikelyName(path.filename().string(), names);
  return likely.empty()
             ? ""
             : absl::StrCat("; did you mean ",
                            (path.parent_path() / likely).string(), "?");
}

// Values that only say how a new network begins.
constexpr absl::string_view kOnlyInitial[] = {"initial_log_std"};

std::map<std::string, std::string> NetworkOf(const v1::JobSpec& job) {
  std::map<std::string, std::string> network = {{"task", job.task()}};
  const google::protobuf::Descriptor& policy = *job.policy().GetDescriptor();
  for (int i = 0; i < policy.field_count(); ++i) {
    const google::protobuf::FieldDescriptor& field = *policy.field(i);
    if (absl::c_linear_search(kOnlyInitial, field.name())) continue;
    network["policy." + field.name()] = FieldToYaml(job.policy(), field);
  }
  return network;
}

absl::StatusOr<LoadedJob> Resolve(const JobFile& file) {
  const absl::StatusOr<ResolvedJob> resolved = ResolveJob(file.spec());
  if (!resolved.ok()) {
    const absl::string_view message = resolved.status().message();
    return absl::InvalidArgumentError(
        file.AtItsPlace({message.data(), message.size()}));
  }
  absl::StatusOr<JobSpec> spec = JobSpecFromProto(resolved->spec);
  if (!spec.ok()) return spec.status();
  LoadedJob job{.spec = *std::move(spec),
                .yaml = JobToYaml(resolved->spec),
                .network = NetworkOf(resolved->spec)};
  if (const absl::Status fits = CheckTask(job.spec); !fits.ok()) {
    return absl::InvalidArgumentError(
        file.AtItsPlace({fits.message().data(), fits.message().size()}));
  }
  job.warnings = IdleFields(file, resolved->spec);
  for (const std::string& warning : resolved->warnings) {
    job.warnings.push_back(file.AtItsPlace(warning));
  }
  return job;
}

}  // namespace

absl::Status CheckResumable(const LoadedJob& before, const LoadedJob& job) {
  for (const auto& [path, value] : before.network) {
    const auto now = job.network.find(path);
    if (now == job.network.end() || now->second == value) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        path, " must stay ", value,
        " in a run that goes on from a checkpoint, got ", now->second));
  }
  return absl::OkStatus();
}

absl::StatusOr<LoadedJob> LoadJob(const std::filesystem::path& path,
                                  const std::vector<std::string>& overrides) {
  const absl::StatusOr<std::string> text =
      ReadFile(path, YamlLimits{}.bytes_max);
  if (absl::IsNotFound(text.status())) {
    return absl::NotFoundError(
        absl::StrCat(text.status().message(), DidYouMean(path)));
  }
  if (!text.ok()) return text.status();
  const absl::StatusOr<JobFile> file =
      JobFile::Parse({path.string(), *text, overrides});
  if (!file.ok()) return file.status();
  return Resolve(*file);
}

}  // namespace flywheel
