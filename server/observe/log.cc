#include "server/observe/log.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "spdlog/pattern_formatter.h"
#include "spdlog/sinks/stdout_sinks.h"
#include "spdlog/spdlog.h"

namespace kernelwire {
namespace {

constexpr std::size_t kMaxForeignBytes = 256;
constexpr const char* kStageFields[kStageCount] = {"decode", "queue",    "stage", "copy_in",
                                                   "kernel", "copy_out", "encode"};

/// The logger of lines with fields. In JSON its payload is a list of them already; every other logger's is plain text.
constexpr char kFieldsLogger[] = "fields";

std::shared_ptr<spdlog::logger>& FieldsLogger() {
  static auto* const logger = new std::shared_ptr<spdlog::logger>();
  return *logger;
}
LogFormat g_format = LogFormat::kPlain;

class JsonFormatter final : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& line, spdlog::memory_buf_t& out) override {
    spdlog::memory_buf_t time;
    time_.format(line, time);
    const std::string_view level = Text(spdlog::level::to_string_view(line.level));
    const std::string_view payload = Text(line.payload);
    std::string text = "{\"time\":\"";
    text.append(time.data(), time.size()).append("\",\"level\":\"").append(level).append("\",");
    if (Text(line.logger_name) == kFieldsLogger) {
      text.append(payload);
    } else {
      text.append("\"message\":").append(QuoteJson(payload));
    }
    text.append("}\n");
    out.append(text.data(), text.data() + text.size());
  }
  std::unique_ptr<spdlog::formatter> clone() const override { return std::make_unique<JsonFormatter>(); }

 private:
  static std::string_view Text(const spdlog::string_view_t& view) { return {view.data(), view.size()}; }

  spdlog::pattern_formatter time_{"%Y-%m-%dT%H:%M:%S.%eZ", spdlog::pattern_time_type::utc, ""};
};

/// The length of the well-formed UTF-8 sequence at `text[at]`, or 0: no overlong forms, no surrogates.
std::size_t Utf8Length(std::string_view text, std::size_t at) {
  const auto byte = [&text](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto tail = [&byte](std::size_t i, unsigned low, unsigned high) { return byte(i) >= low && byte(i) <= high; };
  const unsigned first = byte(at);
  if (first < 0x80) {
    return 1;
  }
  if (first >= 0xC2 && first <= 0xDF) {
    return tail(at + 1, 0x80, 0xBF) ? 2 : 0;
  }
  if (first >= 0xE0 && first <= 0xEF) {
    const bool second = tail(at + 1, first == 0xE0 ? 0xA0 : 0x80, first == 0xED ? 0x9F : 0xBF);
    return second && tail(at + 2, 0x80, 0xBF) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const bool second = tail(at + 1, first == 0xF0 ? 0x90 : 0x80, first == 0xF4 ? 0x8F : 0xBF);
    return second && tail(at + 2, 0x80, 0xBF) && tail(at + 3, 0x80, 0xBF) ? 4 : 0;
  }
  return 0;
}

void AppendEscaped(char character, std::string* out) {
  const auto byte = static_cast<unsigned char>(character);
  constexpr char kHex[] = "0123456789abcdef";
  if (character == '"' || character == '\\') {
    out->push_back('\\');
    out->push_back(character);
  } else if (byte < 0x20 || byte == 0x7F) {
    out->append("\\u00").append(1, kHex[byte >> 4]).append(1, kHex[byte & 15]);
  } else {
    out->push_back(character);
  }
}

/// A line with fields while it is written. Values come as JSON: quoted strings, numbers.
class Line {
 public:
  explicit Line(std::string_view message)
      : json_(g_format == LogFormat::kJson),
        text_(json_ ? "\"message\":" + QuoteJson(message) : std::string(message)) {}
  void Add(std::string_view name, std::string_view value) {
    text_.append(json_ ? ",\"" : " ").append(name).append(json_ ? "\":" : "=").append(value);
  }
  void Write(spdlog::level::level_enum level) const {
    FieldsLogger()->log(level, spdlog::string_view_t(text_.data(), text_.size()));
  }

 private:
  const bool json_;
  std::string text_;
};

std::string Foreign(std::string_view text) { return QuoteJson(text.substr(0, kMaxForeignBytes)); }

}  // namespace

void SetUpLog(spdlog::level::level_enum level, LogFormat format) {
  auto sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  if (format == LogFormat::kJson) {
    sink->set_formatter(std::make_unique<JsonFormatter>());
  } else {
    sink->set_formatter(
        std::make_unique<spdlog::pattern_formatter>("%Y-%m-%dT%H:%M:%S.%eZ %-5l %v", spdlog::pattern_time_type::utc));
  }
  auto requests = std::make_shared<spdlog::logger>(kFieldsLogger, sink);
  auto lines = std::make_shared<spdlog::logger>("kernelwire", std::move(sink));
  for (const auto& logger : {requests, lines}) {
    logger->set_level(level);
    logger->flush_on(spdlog::level::trace);
  }
  g_format = format;
  FieldsLogger() = std::move(requests);
  spdlog::set_default_logger(std::move(lines));
}

absl::StatusOr<spdlog::level::level_enum> LogLevelByName(std::string_view name) {
  constexpr std::pair<std::string_view, spdlog::level::level_enum> kLevels[] = {
      {"trace", spdlog::level::trace}, {"debug", spdlog::level::debug}, {"info", spdlog::level::info},
      {"warn", spdlog::level::warn},   {"error", spdlog::level::err},   {"off", spdlog::level::off}};
  for (const auto& [known, level] : kLevels) {
    if (name == known) {
      return level;
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("expected trace, debug, info, warn, error or off, got \"", std::string(name), "\""));
}

bool LogsRequests() { return FieldsLogger() != nullptr && FieldsLogger()->should_log(spdlog::level::debug); }

void LogWithFields(spdlog::level::level_enum level, std::string_view message, const LogFields& fields) {
  if (FieldsLogger() == nullptr || !FieldsLogger()->should_log(level)) {
    return;
  }
  Line line(message);
  for (const auto& [name, value] : fields) {
    line.Add(name, QuoteJson(value));
  }
  line.Write(level);
}

void LogRequest(std::string_view id, std::string_view op, const RequestRecord& record, std::string_view error) {
  if (!LogsRequests()) {
    return;
  }
  Line line("request");
  line.Add("id", Foreign(id));
  line.Add("operator", Foreign(op));
  line.Add("code", QuoteJson(absl::StatusCodeToString(record.code)));
  line.Add("duration_micros", absl::StrCat(record.duration / 1000));
  for (std::size_t stage = 0; stage < kStageCount; ++stage) {
    if (record.stages[stage] >= 0) {
      line.Add(std::string(kStageFields[stage]) + "_micros", absl::StrCat(record.stages[stage] / 1000));
    }
  }
  if (!error.empty()) {
    line.Add("error", Foreign(error));
  }
  line.Write(spdlog::level::debug);
}

std::string QuoteJson(std::string_view text) {
  std::string quoted = "\"";
  quoted.reserve(text.size() + 2);
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = Utf8Length(text, i);
    if (length == 1) {
      AppendEscaped(text[i], &quoted);
    } else if (length == 0) {
      quoted.push_back('?');
    } else {
      quoted.append(text.substr(i, length));
    }
    i += length == 0 ? 1 : length;
  }
  quoted.push_back('"');
  return quoted;
}

}  // namespace kernelwire
