#include <iostream>
#include <string>
#include <vector>

#include <sys/ioctl.h>
#include <unistd.h>

#include "tunebench/cli/program.h"

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  tunebench::cli::Console console{
      .out = std::cout, .err = std::cerr, .live = ::isatty(STDERR_FILENO) == 1};
  winsize size{};
  if (console.live && ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20) {
    console.width = size.ws_col;
  }
  return tunebench::cli::run_program(std::vector<std::string>(argv + 1, argv + argc), console);
}
