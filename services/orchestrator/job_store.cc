#include "services/orchestrator/job_store.h"

#include <sqlite3.h>

#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "services/core/status_macros.h"

namespace flywheel {
namespace {

constexpr int kSchemaVersion = 1;
constexpr int kBusyMs = 1000;  // Waiting for another process to let go.

constexpr char kPragmas[] =
    "PRAGMA busy_timeout = 1000;"
    "PRAGMA locking_mode = EXCLUSIVE;"
    "PRAGMA journal_mode = WAL;"
    "PRAGMA synchronous = FULL;"
    "PRAGMA foreign_keys = ON;";

constexpr char kSchema[] =
    "BEGIN IMMEDIATE;"
    "CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL);"
    "INSERT INTO schema_version SELECT 1"
    "  WHERE NOT EXISTS (SELECT * FROM schema_version);"
    "CREATE TABLE IF NOT EXISTS jobs ("
    "  number INTEGER PRIMARY KEY AUTOINCREMENT,"
    "  job_id TEXT NOT NULL UNIQUE,"
    "  job BLOB NOT NULL);"
    "CREATE TABLE IF NOT EXISTS requests ("
    "  request_id TEXT PRIMARY KEY,"
    "  fingerprint BLOB NOT NULL,"
    "  job_id TEXT NOT NULL REFERENCES jobs (job_id));"
    "COMMIT;";

}  // namespace

// One prepared statement, finalized at the end of its scope.
class JobStore::Statement {
 public:
  Statement(sqlite3* database, const char* sql) {
    code_ = sqlite3_prepare_v2(database, sql, -1, &statement_, nullptr);
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  // `value` must outlive the statement.
  Statement& Text(int index, const std::string& value) {
    if (code_ == SQLITE_OK) {
      code_ = sqlite3_bind_text(statement_, index, value.data(),
                                static_cast<int>(value.size()), SQLITE_STATIC);
    }
    return *this;
  }
  Statement& Blob(int index, const std::string& value) {
    if (code_ == SQLITE_OK) {
      code_ = sqlite3_bind_blob(statement_, index, value.data(),
                                static_cast<int>(value.size()), SQLITE_STATIC);
    }
    return *this;
  }

  // SQLITE_ROW, SQLITE_DONE or an error.
  int Step() { return code_ == SQLITE_OK ? sqlite3_step(statement_) : code_; }

  std::string Bytes(int column) {
    const void* const bytes = sqlite3_column_blob(statement_, column);
    const int size = sqlite3_column_bytes(statement_, column);
    return bytes == nullptr ? ""
                            : std::string(static_cast<const char*>(bytes),
                                          static_cast<std::size_t>(size));
  }
  int64_t Integer(int column) {
    return sqlite3_column_int64(statement_, column);
  }

 private:
  sqlite3_stmt* statement_ = nullptr;
  int code_ = SQLITE_OK;
};

absl::StatusOr<std::unique_ptr<JobStore>> JobStore::Open(
    const std::string& path) {
  sqlite3* database = nullptr;
  const int code =
      sqlite3_open_v2(path.c_str(), &database,
                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
  // Even a failed open leaves a handle that must be closed.
  std::unique_ptr<JobStore> store(new JobStore(path, database));
  if (code != SQLITE_OK) {
    MutexLock lock(store->mutex_);
    return store->Error(code);
  }
  FLYWHEEL_RETURN_IF_ERROR(store->Prepare());
  return store;
}

JobStore::~JobStore() {
  MutexLock lock(mutex_);
  sqlite3_close(database_);
}

absl::Status JobStore::Prepare() {
  MutexLock lock(mutex_);
  sqlite3_busy_timeout(database_, kBusyMs);
  FLYWHEEL_RETURN_IF_ERROR(Execute(kPragmas));
  FLYWHEEL_RETURN_IF_ERROR(Execute(kSchema));
  FLYWHEEL_RETURN_IF_ERROR(CheckSchemaVersion());
  Statement check(database_, "PRAGMA quick_check(1)");
  if (const int code = check.Step(); code != SQLITE_ROW) return Error(code);
  if (const std::string found = check.Bytes(0); found != "ok") {
    return absl::DataLossError(
        absl::StrCat("job store ", path_, " is damaged: ", found));
  }
  return absl::OkStatus();
}

absl::Status JobStore::CheckSchemaVersion() {
  Statement query(database_, "SELECT max(version) FROM schema_version");
  if (const int code = query.Step(); code != SQLITE_ROW) return Error(code);
  const int64_t version = query.Integer(0);
  if (version == kSchemaVersion) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("job store ", path_, " has schema version ", version,
                   "; this build reads ", kSchemaVersion));
}

absl::Status JobStore::Insert(const JobRecord& record,
                              const StoredRequest& request) {
  MutexLock lock(mutex_);
  FLYWHEEL_RETURN_IF_ERROR(Execute("BEGIN IMMEDIATE"));
  absl::Status status = InsertRows(record, request);
  if (status.ok()) status = Execute("COMMIT");
  if (!status.ok()) static_cast<void>(Execute("ROLLBACK"));
  return status;
}

absl::Status JobStore::InsertRows(const JobRecord& record,
                                  const StoredRequest& request) {
  Statement job(database_, "INSERT INTO jobs (job_id, job) VALUES (?, ?)");
  const int code = job.Text(1, record.job_id).Blob(2, record.job).Step();
  if (code != SQLITE_DONE) return Error(code);
  if (request.request_id.empty()) return absl::OkStatus();
  Statement row(database_, "INSERT INTO requests VALUES (?, ?, ?)");
  const int row_code = row.Text(1, request.request_id)
                           .Blob(2, request.fingerprint)
                           .Text(3, record.job_id)
                           .Step();
  return row_code == SQLITE_DONE ? absl::OkStatus() : Error(row_code);
}

absl::Status JobStore::Update(const JobRecord& record) {
  MutexLock lock(mutex_);
  Statement update(database_, "UPDATE jobs SET job = ? WHERE job_id = ?");
  const int code = update.Blob(1, record.job).Text(2, record.job_id).Step();
  if (code != SQLITE_DONE) return Error(code);
  if (sqlite3_changes(database_) == 1) return absl::OkStatus();
  return absl::NotFoundError(
      absl::StrCat("job store ", path_, " has no job ", record.job_id));
}

absl::StatusOr<std::vector<JobRecord>> JobStore::Jobs() {
  MutexLock lock(mutex_);
  std::vector<JobRecord> records;
  Statement query(database_, "SELECT job_id, job FROM jobs ORDER BY number");
  int code = query.Step();
  for (; code == SQLITE_ROW; code = query.Step()) {
    records.push_back({.job_id = query.Bytes(0), .job = query.Bytes(1)});
  }
  if (code != SQLITE_DONE) return Error(code);
  return records;
}

absl::StatusOr<std::optional<StoredRequest>> JobStore::FindRequest(
    const std::string& request_id) {
  MutexLock lock(mutex_);
  Statement query(
      database_,
      "SELECT fingerprint, job_id FROM requests WHERE request_id = ?");
  const int code = query.Text(1, request_id).Step();
  if (code == SQLITE_DONE) return std::nullopt;
  if (code != SQLITE_ROW) return Error(code);
  return StoredRequest{.request_id = request_id,
                       .fingerprint = query.Bytes(0),
                       .job_id = query.Bytes(1)};
}

absl::Status JobStore::Execute(const char* sql) {
  const int code = sqlite3_exec(database_, sql, nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? absl::OkStatus() : Error(code);
}

absl::Status JobStore::Error(int code) {
  const std::string sentence = absl::StrCat(
      "job store ", path_, ": ",
      database_ == nullptr ? sqlite3_errstr(code) : sqlite3_errmsg(database_));
  switch (code & 0xff) {  // Extended codes share their low byte.
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return absl::DataLossError(sentence);
    case SQLITE_CONSTRAINT:
      return absl::AlreadyExistsError(sentence);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return absl::UnavailableError(
          absl::StrCat(sentence, "; another process has it open"));
    default:
      return absl::UnavailableError(sentence);
  }
}

}  // namespace flywheel
