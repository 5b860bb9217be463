# SPDX-License-Identifier: Apache-2.0
# Types that users cannot instantiate, because other objects make and fill in their instances.
cdef extern from *:
    """
    static PyObject *fastrec_refuse_new(PyTypeObject *type, PyObject *args, PyObject *options) {
        (void)args, (void)options;
        return PyErr_Format(PyExc_TypeError, "cannot create '%.100s' instances", type->tp_name);
    }
    static void fastrec_seal(PyObject *type) {
        ((PyTypeObject *)type)->tp_new = fastrec_refuse_new;
        ((PyTypeObject *)type)->tp_vectorcall = NULL; /* would not ask tp_new */
        PyType_Modified((PyTypeObject *)type);
    }
    """
    void seal "fastrec_seal"(object type)
