// The interpreter's lock, given up and taken by threads that may outlive the interpreter.
#pragma once

#include <nanobind/nanobind.h>

namespace thalweg::python {

// A thread that asks for the lock of an interpreter that ends is ended there and then, and C++ ends the whole
// program for it (docs.python.org/3/c-api/init.html, "Cautions regarding runtime finalization"). From
// begin_end() on, any other thread than its caller waits for the end of the process instead.
void begin_end();
void wait_where_it_ends();

// As nanobind::gil_scoped_release.
class WithoutGil {
 public:
  WithoutGil() : state_(PyEval_SaveThread()) {}
  ~WithoutGil() {
    wait_where_it_ends();
    PyEval_RestoreThread(state_);
  }
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* state_;
};

// As nanobind::gil_scoped_acquire.
class WithGil {
 public:
  WithGil() {
    wait_where_it_ends();
    state_ = PyGILState_Ensure();
  }
  ~WithGil() { PyGILState_Release(state_); }
  WithGil(const WithGil&) = delete;
  WithGil& operator=(const WithGil&) = delete;

 private:
  PyGILState_STATE state_;
};

}  // namespace thalweg::python
