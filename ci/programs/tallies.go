// Workers that take jobs from one channel, and count them in neighbouring slots of an array.
package main

const workers = 2

type tally struct{ jobs, bytes uint64 }

var tallies [workers]tally

func work(own *tally, jobs <-chan []byte) {
	for job := range jobs {
		for _, one := range job {
			own.bytes += uint64(one)
		}
		own.jobs++
	}
}

func main() {
	jobs := make(chan []byte, 64)
	for at := range tallies {
		go work(&tallies[at], jobs)
	}
	for job := make([]byte, 1000); ; {
		jobs <- job
	}
}
