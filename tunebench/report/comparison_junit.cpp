#include "tunebench/analyze/point_names.h"
#include "tunebench/base/text.h"
#include "tunebench/report/comparison.h"

namespace tunebench::report {
namespace {

/// For XML: & < > and quotes by name, what XML 1.0 does not have as \xNN or "?".
std::string xml_text(const std::string& text) {
  std::string shown = printable(text);
  for (const std::string_view none : {"\xEF\xBF\xBE", "\xEF\xBF\xBF"}) {  // U+FFFE, U+FFFF
    for (std::size_t at = shown.find(none); at != std::string::npos; at = shown.find(none, at)) {
      shown.replace(at, none.size(), "?");
    }
  }
  std::string escaped;
  for (const char letter : shown) {
    switch (letter) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += letter;
    }
  }
  return escaped;
}

struct TestCase {
  std::string group;
  std::string name;
  analyze::GateState state = analyze::GateState::Passed;
  std::string text;
};

std::string case_title(const analyze::ComparedPoint& point, const analyze::Comparison& comparison) {
  const std::string title = analyze::point_title(point.inputs, comparison.names);
  return title.empty() ? comparison.metric.name : title;
}

std::vector<TestCase> cases_of(const ComparisonReport& report) {
  const analyze::Comparison& comparison = *report.comparison;
  std::vector<TestCase> cases;
  for (const analyze::GateResult& gate : report.gates) {
    for (const analyze::GatedPoint& judged : gate.points) {
      cases.push_back(
          {gate.gate.text, case_title(*judged.point, comparison), judged.state, judged.why});
    }
  }
  if (report.gates.empty()) {
    for (const analyze::ComparedPoint& point : comparison.points) {
      cases.push_back({comparison.metric.name, case_title(point, comparison),
                       analyze::GateState::Passed,
                       std::string(change_name(comparison.metric, point.change))});
    }
  }
  return cases;
}

std::string case_xml(const TestCase& one) {
  std::string text = "    <testcase classname=\"" + xml_text(one.group) + "\" name=\"" +
                     xml_text(one.name) + "\" time=\"0\">\n";
  const std::string message = xml_text(one.text);
  if (one.state == analyze::GateState::Failed) {
    text += "      <failure message=\"" + message + "\" type=\"regression\"/>\n";
  } else if (one.state == analyze::GateState::Uncertain) {
    text += "      <skipped message=\"uncertain: " + message + "\"/>\n";
  }
  return text + "      <system-out>" + message + "</system-out>\n    </testcase>\n";
}

}  // namespace

std::string comparison_junit(const ComparisonReport& report) {
  const std::vector<TestCase> cases = cases_of(report);
  std::size_t failures = 0;
  std::size_t skipped = 0;
  std::string body;
  for (const TestCase& one : cases) {
    failures += one.state == analyze::GateState::Failed ? 1U : 0U;
    skipped += one.state == analyze::GateState::Uncertain ? 1U : 0U;
    body += case_xml(one);
  }
  const std::string counts = "tests=\"" + std::to_string(cases.size()) + "\" failures=\"" +
                             std::to_string(failures) + "\" errors=\"0\" skipped=\"" +
                             std::to_string(skipped) + "\"";
  const std::string name = xml_text(report.first_name + " to " + report.second_name);
  std::string properties;
  for (const std::string& change : report.comparison->environment_full) {
    const std::size_t colon = change.find(": ");
    properties += "      <property name=\"" + xml_text(change.substr(0, colon)) + "\" value=\"" +
                  xml_text(change.substr(colon + 2)) + "\"/>\n";
  }
  if (!properties.empty()) {
    properties = "    <properties>\n" + properties + "    </properties>\n";
  }
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"tunebench compare\" " +
         counts + ">\n  <testsuite name=\"" + name + "\" " + counts + ">\n" + properties + body +
         "  </testsuite>\n</testsuites>\n";
}

}  // namespace tunebench::report
