// Package pages renders the pages for people: the documentation, the home page and the
// claim page, with the files that they need.
//
// It knows no requests: the operations of httpapi read what a page shows, call this package
// and send the page. It may import domain/fault, domain/query, docs and
// handlers/httpapi/reference. It never imports httpapi or its edge.
package pages
