"""Measurements of the choice on a company's own data: labelled questions, labelled mails, and its example questions."""
